"""The official Python SDK against `deft serve`: what people add to an agent, and copies of conversations."""

import json
import urllib.request

from desk import KEY
from openhands.sdk import Agent, Tool
from openhands.sdk.conversation.state import ConversationExecutionStatus as Status
from openhands.sdk.event import ActionEvent, ObservationEvent
from openhands.sdk.hooks import HookConfig
from openhands.sdk.hooks.config import HookDefinition, HookMatcher
from openhands.sdk.subagent import AgentDefinition, register_agent
from openhands.sdk.tool.client_tool import ClientToolSpec
from test_conversation import ECHO, FINISH, begin, kinds


def texts(conversation) -> str:
    return "".join(event.model_dump_json() for event in conversation.state.events)


def test_a_hook_keeps_a_command_from_running(desk):
    guard = HookDefinition(command="echo 'not that' >&2; exit 2")
    hooks = HookConfig(pre_tool_use=[HookMatcher(matcher="terminal", hooks=[guard])])
    step = "- tool_calls: [{name: terminal, arguments: {command: touch made}}]"
    conversation = begin(desk, f"{step}\n{FINISH}", more={"hook_config": hooks})
    conversation.send_message("make it")
    conversation.run()
    assert conversation.state.execution_status == Status.FINISHED
    assert not (desk.work / "made").exists()
    assert "not that" in texts(conversation)
    conversation.close()


def test_a_tool_of_the_client_is_called(desk):
    schema = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
    paint = ClientToolSpec(name="paint", description="Paints the screen.", parameters=schema)
    step = "- tool_calls: [{name: paint, arguments: {color: blue}}]"
    conversation = begin(desk, f"{step}\n{FINISH}", more={"client_tools": [paint]})
    conversation.send_message("paint")
    conversation.run()
    assert conversation.state.execution_status == Status.FINISHED
    calls = [event for event in conversation.state.events if isinstance(event, ActionEvent)]
    assert calls[0].tool_name == "paint" and "blue" in calls[0].tool_call.arguments
    conversation.close()


def test_a_registered_agent_can_be_given_a_task(desk):
    definition = AgentDefinition(name="reviewer", description="reviews changes", system_prompt="Review.")
    register_agent("reviewer", lambda llm: Agent(llm=llm), definition)
    task = "{description: look, prompt: look at it, subagent_type: reviewer}"
    conversation = begin(
        desk,
        f"- tool_calls: [{{name: task, arguments: {task}}}]\n- text: It is fine.\n{FINISH}",
        tools=[Tool(name="task_tool_set")],
    )
    conversation.send_message("have it reviewed")
    conversation.run()
    assert conversation.state.execution_status == Status.FINISHED
    results = [event for event in conversation.state.events if isinstance(event, ObservationEvent)]
    assert "It is fine." in str(results[0].observation.content)
    conversation.close()


def test_a_conversation_is_copied_whole_and_up_to_an_event(desk):
    conversation = begin(desk, f"{ECHO}\n{FINISH}\n- text: And on.\n- text: And on.")
    conversation.send_message("look")
    conversation.run()
    whole = conversation.fork(title="a copy")
    said = [name for name in kinds(whole) if name != "ConversationStateUpdateEvent"]
    assert said == [name for name in kinds(conversation) if name != "ConversationStateUpdateEvent"]
    assert "hello from the script" in texts(whole)
    looked = next(event for event in conversation.state.events if isinstance(event, ObservationEvent))
    part = conversation.fork(from_event_id=looked.id)
    part.send_message("go on")
    part.run()
    assert part.state.execution_status == Status.FINISHED
    assert kinds(part).count("ObservationEvent") < kinds(whole).count("ObservationEvent") + 1
    for copy in (whole, part, conversation):
        copy.close()


def test_the_tools_that_clients_can_choose_from_are_listed(desk):
    request = urllib.request.Request(f"{desk.host}/api/tools/", headers={"X-Session-API-Key": KEY})
    with urllib.request.urlopen(request, timeout=30) as answer:
        names = json.load(answer)
    assert {"terminal", "file_editor"} <= set(names)
