"""The official Python SDK against `deft serve`: what its users do with a remote conversation."""

import subprocess
import sys
import threading
import time
import uuid

import pytest
from desk import KEY, Desk
from openhands.sdk import LLM, Agent, Conversation, RemoteConversation, Tool, Workspace
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.conversation.state import ConversationExecutionStatus as Status
from openhands.sdk.event import ActionEvent, MessageEvent, ObservationEvent, PauseEvent
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.terminal import TerminalTool
from pydantic import SecretStr

FINISH = "- tool_calls: [{name: finish, arguments: {message: all done}}]"
ECHO = "- text: I look.\n  tool_calls: [{name: terminal, arguments: {command: echo hello from the script}}]"


def agent(model: str, tools=(), **llm) -> Agent:
    llm = LLM(model=model, api_key=SecretStr("sk-never-to-be-seen"), usage_id="agent", **llm)
    return Agent(llm=llm, tools=[Tool(name=TerminalTool.name), Tool(name=FileEditorTool.name), *tools])


def begin(desk: Desk, steps: str, callbacks=(), conversation_id=None, more=None, **llm) -> RemoteConversation:
    workspace = Workspace(host=desk.host, api_key=KEY, working_dir=str(desk.work))
    model = desk.script(uuid.uuid4().hex, steps)
    return Conversation(
        agent=agent(model, **llm),
        workspace=workspace,
        callbacks=list(callbacks),
        conversation_id=conversation_id,
        visualizer=None,
        delete_on_close=False,
        **(more or {}),
    )


def kinds(conversation: RemoteConversation) -> list[str]:
    return [type(event).__name__ for event in conversation.state.events]


def until(condition, limit: float = 30.0) -> None:
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, "it never comes"
        time.sleep(0.02)


def test_a_task_runs_to_its_end_and_the_client_sees_every_event(desk):
    seen = []
    conversation = begin(desk, f"{ECHO}\n{FINISH}", callbacks=[seen.append])
    conversation.send_message("do it")
    began = time.monotonic()
    conversation.run()
    assert time.monotonic() - began < 20, "the end of the run was not heard of"
    assert conversation.state.execution_status == Status.FINISHED
    names = kinds(conversation)
    assert names.count("ActionEvent") == 2 and names.count("ObservationEvent") == 2
    results = [event for event in seen if isinstance(event, ObservationEvent)]
    assert "hello from the script" in str(results[0].observation.content)
    assert conversation.state.agent.llm.model.startswith("script:")
    assert conversation.state.stats.usage_to_metrics["agent"].accumulated_token_usage.prompt_tokens > 0
    # A second run with nothing new said ends at once.
    conversation.run()
    conversation.send_message("once more")
    conversation.run()
    assert conversation.state.execution_status == Status.FINISHED
    conversation.close()


def test_a_plain_answer_ends_the_run(desk):
    conversation = begin(desk, "- text: It is 42.")
    conversation.send_message("what is it?")
    conversation.run()
    answers = [e for e in conversation.state.events if isinstance(e, MessageEvent) and e.source == "agent"]
    assert answers[-1].llm_message.content[0].text == "It is 42."
    conversation.close()


def test_pieces_of_a_reply_are_streamed(desk):
    pieces = []
    workspace = Workspace(host=desk.host, api_key=KEY, working_dir=str(desk.work))
    model = desk.script("stream", "- text: one two three four five six seven\n  chunk_delay_ms: 5")
    conversation = Conversation(
        agent=agent(model, stream=True),
        workspace=workspace,
        token_callbacks=[pieces.append],
        visualizer=None,
        delete_on_close=False,
    )
    conversation.send_message("count")
    conversation.run()
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces)
    assert text == "one two three four five six seven"
    conversation.close()


def test_a_failing_model_ends_the_run_with_its_reason(desk):
    conversation = begin(desk, "- error: {kind: authentication, message: no such key}")
    conversation.send_message("do it")
    with pytest.raises(ConversationRunError) as failed:
        conversation.run()
    assert "no such key" in str(failed.value)
    assert conversation.state.execution_status == Status.ERROR
    conversation.close()


def test_pause_lets_the_step_end_and_run_goes_on(desk):
    command = "touch begun; sleep 1; echo slept"
    conversation = begin(desk, f"- tool_calls: [{{name: terminal, arguments: {{command: {command}}}}}]\n{FINISH}")
    conversation.send_message("do it")
    running = threading.Thread(target=conversation.run)
    running.start()
    until((desk.work / "begun").exists)
    conversation.pause()
    running.join(timeout=20)
    assert not running.is_alive()
    assert conversation.state.execution_status == Status.PAUSED
    assert any(isinstance(event, PauseEvent) for event in conversation.state.events)
    until(lambda: any(isinstance(event, ObservationEvent) for event in conversation.state.events))
    conversation.run()
    assert conversation.state.execution_status == Status.FINISHED
    conversation.close()


def test_interrupt_stops_a_command_at_once(desk):
    conversation = begin(desk, f"- tool_calls: [{{name: terminal, arguments: {{command: sleep 60}}}}]\n{FINISH}")
    conversation.send_message("do it")
    running = threading.Thread(target=conversation.run)
    running.start()
    until(lambda: any(isinstance(event, ActionEvent) for event in conversation.state.events))
    began = time.monotonic()
    conversation.interrupt()
    running.join(timeout=20)
    assert not running.is_alive() and time.monotonic() - began < 15
    assert conversation.state.execution_status == Status.PAUSED
    conversation.run()
    assert conversation.state.execution_status == Status.FINISHED
    conversation.close()


def test_a_history_of_a_thousand_events_is_read_whole(desk):
    steps = "- tool_calls: [{name: think, arguments: {thought: 'thought {{n}}'}}]\n  repeat: 340\n" + FINISH
    conversation = begin(desk, steps)
    conversation.send_message("think")
    conversation.run(timeout=300)
    workspace = Workspace(host=desk.host, api_key=KEY, working_dir=str(desk.work))
    again = RemoteConversation.attach(workspace=workspace, conversation_id=conversation.id, visualizer=None)
    assert len(again.state.events) >= 1000
    ids = [event.id for event in again.state.events]
    assert len(set(ids)) == len(ids)
    assert kinds(again)[0] == "SystemPromptEvent"
    again.close()
    conversation.close()


def test_a_client_that_has_loaded_no_tools_joins_and_reads_every_event(desk):
    conversation = begin(desk, f"{ECHO}\n{FINISH}")
    conversation.send_message("do it")
    conversation.run()
    join = """
import sys, uuid
from openhands.sdk import RemoteConversation, Workspace
workspace = Workspace(host=sys.argv[1], api_key=sys.argv[2], working_dir="/")
joined = RemoteConversation.attach(workspace=workspace, conversation_id=uuid.UUID(sys.argv[3]), visualizer=None)
print([event.action.kind for event in joined.state.events if hasattr(event, "action")])
"""
    arguments = [sys.executable, "-c", join, desk.host, KEY, str(conversation.id)]
    joined = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert joined.stdout.strip().endswith("['TerminalAction', 'FinishAction']"), joined.stdout + joined.stderr[-2000:]
    conversation.close()


def test_a_conversation_goes_on_after_the_server_was_started_again():
    desk = Desk()
    slow = "- tool_calls: [{name: terminal, arguments: {command: sleep 2; echo slept}}]\n"
    conversation = begin(desk, f"{ECHO}\n{slow}{FINISH}")
    conversation.send_message("do it")
    conversation.run(blocking=False)
    until(lambda: sum(isinstance(event, ActionEvent) for event in conversation.state.events) == 2)
    before = conversation.id
    desk.stop()
    desk.start()
    workspace = Workspace(host=desk.host, api_key=KEY, working_dir=str(desk.work))
    again = RemoteConversation.attach(workspace=workspace, conversation_id=before, visualizer=None)
    assert again.state.execution_status == Status.PAUSED
    again.run()
    assert again.state.execution_status == Status.FINISHED
    results = [str(event.observation.content) for event in again.state.events if isinstance(event, ObservationEvent)]
    assert any("slept" in result for result in results), "the result of the command was collected"
    again.close()
    conversation.close()
    desk.stop()


def test_a_wrong_key_opens_nothing(desk):
    workspace = Workspace(host=desk.host, api_key="wrong", working_dir=str(desk.work))
    with pytest.raises(Exception, match="401"):
        Conversation(agent=agent("demo"), workspace=workspace, visualizer=None)
