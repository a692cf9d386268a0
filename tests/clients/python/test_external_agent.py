"""An agent made with the Agent Client Protocol's own SDK, driven by the official Python SDK through `deft serve`."""

import pathlib
import sys

from desk import KEY, Desk
from openhands.sdk import Conversation, Workspace
from openhands.sdk.agent import ACPAgent
from openhands.sdk.conversation.state import ConversationExecutionStatus as Status
from openhands.sdk.event import ACPToolCallEvent
from openhands.sdk.security.confirmation_policy import AlwaysConfirm

AGENT = pathlib.Path(__file__).with_name("acp_agent.py")


def begin(desk: Desk):
    # Only what is in the workspace can be read there by everybody.
    script = desk.work / AGENT.name
    script.write_text(AGENT.read_text())
    return Conversation(
        agent=ACPAgent(acp_command=[sys.executable, str(script)]),
        workspace=Workspace(host=desk.host, api_key=KEY, working_dir=str(desk.work)),
        visualizer=None,
        delete_on_close=False,
    )


def test_a_turn_of_an_external_agent_is_seen_by_the_client(desk):
    conversation = begin(desk)
    conversation.send_message("first")
    conversation.run(timeout=60)
    assert conversation.state.execution_status == Status.FINISHED
    assert (desk.work / "note.txt").read_text() == "first"
    calls = [event.status for event in conversation.state.events if isinstance(event, ACPToolCallEvent)]
    assert calls == ["completed"], "the client keeps the last news of a call"


def test_what_it_wants_to_do_waits_for_a_word(desk):
    conversation = begin(desk)
    conversation.set_confirmation_policy(AlwaysConfirm())
    conversation.send_message("second")
    conversation.run(timeout=60)
    assert conversation.state.execution_status == Status.WAITING_FOR_CONFIRMATION
    assert (desk.work / "note.txt").read_text() == "first"
    conversation.run(timeout=60)  # a word, too
    assert conversation.state.execution_status == Status.FINISHED
    assert (desk.work / "note.txt").read_text() == "second"
