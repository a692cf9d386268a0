"""The official Python SDK against `deft serve`: confirmation, forks, secrets, files, git, commands and settings."""

import json
import subprocess
import urllib.request
import uuid

import pytest
from desk import KEY, Desk
from openhands.sdk import Workspace
from openhands.sdk.conversation.state import ConversationExecutionStatus as Status
from openhands.sdk.event import UserRejectObservation
from openhands.sdk.security.confirmation_policy import AlwaysConfirm, NeverConfirm
from test_conversation import ECHO, FINISH, begin, kinds, until


@pytest.fixture
def workspace(desk):
    return Workspace(host=desk.host, api_key=KEY, working_dir=str(desk.work))


def ask(desk: Desk, method: str, path: str, body=None):
    request = urllib.request.Request(
        desk.host + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-Session-API-Key": KEY, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def test_an_action_waits_until_it_is_confirmed_or_rejected(desk):
    conversation = begin(desk, f"{ECHO}\n{ECHO}\n{FINISH}")
    conversation.set_confirmation_policy(AlwaysConfirm())
    conversation.send_message("look")
    conversation.run()
    assert conversation.state.execution_status == Status.WAITING_FOR_CONFIRMATION
    conversation.reject_pending_actions("not today")

    def reasons():
        rejected = [event for event in conversation.state.events if isinstance(event, UserRejectObservation)]
        return [event.rejection_reason for event in rejected]

    until(lambda: reasons() == ["not today"])
    conversation.set_confirmation_policy(NeverConfirm())
    conversation.run()
    assert conversation.state.execution_status == Status.FINISHED


def test_a_confirmed_action_runs(desk):
    conversation = begin(desk, f"{ECHO}\n{FINISH}")
    conversation.set_confirmation_policy(AlwaysConfirm())
    conversation.send_message("look")
    conversation.run()
    assert conversation.state.execution_status == Status.WAITING_FOR_CONFIRMATION
    conversation.run()  # a word for what waits: the echo, then the end
    conversation.run()
    assert conversation.state.execution_status == Status.FINISHED
    assert kinds(conversation).count("ObservationEvent") == 2


def test_secrets_reach_commands_and_stay_hidden(desk):
    step = "- tool_calls: [{name: terminal, arguments: {command: 'echo \"$TOKEN\" ${#TOKEN}'}}]"
    conversation = begin(desk, f"{step}\n{FINISH}")
    conversation.update_secrets({"TOKEN": "open-sesame"})
    conversation.send_message("go")
    conversation.run()
    events = "".join(event.model_dump_json() for event in conversation.state.events)
    assert "open-sesame" not in events
    assert "<secret-hidden> 11" in events


def test_a_question_on_the_side_is_answered(desk):
    conversation = begin(desk, "- text: hello\n- text: on the side")
    conversation.send_message("hi")
    conversation.run()
    assert conversation.ask_agent("what is up?") == "on the side"


def test_a_copy_can_be_attached_to(desk):
    conversation = begin(desk, FINISH)
    conversation.send_message("go")
    conversation.run()
    copy = ask(desk, "POST", f"/api/conversations/{conversation.id}/fork", {"title": "copy"})
    attached = begin(desk, FINISH, conversation_id=uuid.UUID(copy["id"]))
    assert {"SystemPromptEvent", "MessageEvent", "ActionEvent"} <= set(kinds(attached))


def test_commands_files_and_git(desk, workspace, tmp_path):
    result = workspace.execute_command("echo out; echo err >&2; exit 3", cwd=str(desk.work))
    assert (result.exit_code, result.stdout.strip(), result.stderr.strip()) == (3, "out", "err")
    source = tmp_path / "up.txt"
    source.write_text("hello")
    assert workspace.file_upload(source, desk.work / "up.txt").success
    target = tmp_path / "down.txt"
    assert workspace.file_download(desk.work / "up.txt", target).success
    assert target.read_text() == "hello"
    repository = desk.work / "repository"
    repository.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    (repository / "new.txt").write_text("new")
    changes = workspace.git_changes(repository)
    assert [(change.status.value, str(change.path)) for change in changes] == [("ADDED", "new.txt")]
    assert workspace.git_diff(repository / "new.txt").modified.strip() == "new"


def test_settings_and_secrets_of_the_server(desk, workspace):
    model = desk.script("settings", "- text: hello")
    ask(desk, "PATCH", "/api/settings", {"agent_settings_diff": {"llm": {"model": model, "api_key": "sk-kept"}}})
    llm = workspace.get_llm()
    assert llm.model == model
    assert llm.api_key.get_secret_value() == "sk-kept"
    ask(desk, "PUT", "/api/settings/secrets", {"name": "TOK", "value": "v1"})
    assert "TOK" in workspace.get_secrets()
