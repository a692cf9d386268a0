"""A real OpenHands agent server as the workspace of a task of ours."""

import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

KEY = "k-of-their-server"
# It loads half a machine-learning stack before it listens.
LIMIT = 120


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    root = tmp_path_factory.mktemp("theirs")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = os.environ | {"HOME": str(root), "OH_SESSION_API_KEYS_0": KEY, "OH_ENABLE_VSCODE": "0"}
    command = [sys.executable, "-m", "openhands.agent_server", "--host", "127.0.0.1", "--port", str(port)]
    with (root / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=root, env=env, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + LIMIT
    while not is_up(address):
        assert server.poll() is None and time.monotonic() < deadline, (root / "log").read_text()[-2000:]
        time.sleep(0.2)
    yield address
    server.terminate()
    server.wait(timeout=30)


def is_up(address: str) -> bool:
    try:
        return urllib.request.urlopen(address + "/ready", timeout=5).status == 200
    except (urllib.error.URLError, OSError):
        return False


def test_a_task_is_done_there_and_leaves_nothing_of_ours(theirs, tmp_path):
    files, home = tmp_path / "files", tmp_path / "home"
    files.mkdir()
    home.mkdir()
    script = tmp_path / "script.yaml"
    script.write_text(
        """[{tool_calls: [{name: terminal, arguments: {command: 'echo made > made; pwd'}}]},
        {tool_calls: [{name: file_editor, arguments: {command: view, path: '%s/made'}}]}, {text: Done.}]"""
        % files
    )

    def deft(*arguments: str, key: str = KEY) -> subprocess.CompletedProcess:
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "DEFT_REMOTE_KEY": key}
        command = [os.environ["DEFT"], *arguments]
        return subprocess.run(command, env=env, cwd=home, capture_output=True, text=True, timeout=LIMIT)

    place = f"remote:{theirs}?dir={files}"
    refused = deft("doctor", "-w", place, key="another")
    assert refused.returncode != 0 and "remote_key" in refused.stdout, refused.stdout
    ran = deft("run", "-t", "make it", "--model", f"script:{script}", "-w", place)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (files / "made").read_text() == "made\n"
    assert str(files) in ran.stdout

    conversation = deft("list", "--json").stdout.split('"id":"')[1].split('"')[0]
    deleted = deft("delete", conversation)
    assert deleted.returncode == 0, deleted.stderr
    assert [path for path in files.iterdir() if path.name != "made"] == []
    of_ours = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if conversation.replace("-", "") in read(path)]
    assert of_ours == []


def read(path: pathlib.Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
