"""An agent that speaks the Agent Client Protocol over its standard streams and does what its prompt says.

With `--load` it keeps its sessions in a file of its directory and can take them up.
"""

import json
import os
import pathlib
import sys
import time

KEEPS = "--load" in sys.argv
KEPT = pathlib.Path("sessions.json")
sessions = json.loads(KEPT.read_text()) if KEEPS and KEPT.exists() else {}
pending = []  # messages that came while an answer was waited for
asked = 0


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def ask(method, params):
    global asked
    asked += 1
    send(id=f"q{asked}", method=method, params=params)
    while True:
        message = receive()
        if message.get("id") == f"q{asked}":
            return message
        pending.append(message)


def tell(session, update, /, **fields):
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": update, **fields}})


def say(session, text, kind="agent_message_chunk"):
    tell(session, kind, content={"type": "text", "text": text})


def cancelled():
    """Waits until the turn is to end."""
    while True:
        message = pending.pop(0) if pending else receive()
        if message.get("method") == "session/cancel":
            return "cancelled"


def turn(session, blocks):
    texts = [block.get("text", "") for block in blocks]
    word = texts[-1].split()[0]
    sessions[session].append(texts[-1])
    if KEEPS:
        KEPT.write_text(json.dumps(sessions))
    if word == "work":
        say(session, "hm", "agent_thought_chunk")
        call = {"toolCallId": "c1", "title": "Run ls", "kind": "execute", "rawInput": {"command": "ls"}}
        tell(session, "tool_call", status="pending", **call)
        tell(session, "tool_call_update", toolCallId="c1", status="in_progress")
        tell(session, "tool_call_update", toolCallId="c1", status="completed", rawOutput={"stdout": "a.txt"},
             content=[{"type": "content", "content": {"type": "text", "text": "a.txt"}}])
        say(session, "Hello ")
        say(session, "there.")
        tell(session, "usage_update", used=20, size=1000, cost={"amount": 0.25, "currency": "USD"})
        tell(session, "of_tomorrow", something=1)
    elif word == "ask":
        call = {"toolCallId": "c2", "title": "Remove build", "kind": "execute", "rawInput": {"command": "rm -rf build"}}
        options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]
        answer = ask("session/request_permission", {"sessionId": session, "toolCall": call, "options": options})
        outcome = answer["result"]["outcome"]
        if outcome["outcome"] == "cancelled":
            return cancelled()
        say(session, f"They said {outcome['optionId']}.")
    elif word == "plan":
        look, mend = {"content": "Look", "priority": "high"}, {"content": "Mend", "priority": "low"}
        plan = [{**look, "status": "in_progress"}, {**mend, "status": "pending"}]
        tell(session, "plan", entries=plan)
        tell(session, "plan", entries=plan)
        tell(session, "plan", entries=[{**look, "status": "completed"}, {**mend, "status": "in_progress"}])
        say(session, "Planned.")
    elif word == "file":
        answer = ask("fs/read_text_file", {"sessionId": session, "path": "/etc/passwd"})
        say(session, f"Refused with {answer['error']['code']}.")
    elif word == "wait":
        tell(session, "tool_call", toolCallId="c3", title="Wait", status="in_progress", kind="execute")
        say(session, "I wait")
        return cancelled()
    elif word == "deaf":
        say(session, "I hear nothing")
        time.sleep(600)
    elif word == "die":
        say(session, "Oh")
        print("out of luck", file=sys.stderr, flush=True)
        sys.exit(3)
    elif word == "login":
        home = pathlib.Path(os.environ.get("CODEX_HOME", "/nowhere"))
        login = home / "auth.json"
        text = login.read_text() if login.exists() else ""
        say(session, json.dumps({"letters": len(text), "mode": oct(login.stat().st_mode & 0o777) if text else "",
                                 "variable": "CODEX_AUTH_JSON" in os.environ, "home": str(home)}))
    elif word == "secret":
        say(session, "It is " + os.environ.get("AGENT_KEY", "nowhere"))
    else:
        say(session, json.dumps({"told": sessions[session], "blocks": texts, "model": MODEL["id"]}))
    return "end_turn"


MODEL = {"id": "small"}


def models():
    return {"currentModelId": MODEL["id"], "availableModels": [
        {"modelId": "small", "name": "Small", "description": "quick"}, {"modelId": "large", "name": "Large"}]}


while True:
    message = pending.pop(0) if pending else receive()
    method, params = message.get("method"), message.get("params", {})
    if method == "initialize":
        assert params["clientCapabilities"]["terminal"] is False
        result = {"protocolVersion": 1, "agentInfo": {"name": "test-agent", "version": "1.2"},
                  "agentCapabilities": {"loadSession": KEEPS}, "authMethods": []}
    elif method == "session/new":
        session = f"s{len(sessions) + 1}"
        sessions[session] = []
        result = {"sessionId": session, "models": models()}
    elif method == "session/load":
        if params["sessionId"] not in sessions:
            send(id=message["id"], error={"code": -32002, "message": "no such session"})
            continue
        say(params["sessionId"], "what was said before")
        result = {"models": models()}
    elif method == "session/set_model":
        MODEL["id"] = params["modelId"]
        result = {}
    elif method == "session/prompt":
        result = {"stopReason": turn(params["sessionId"], params["prompt"]),
                  "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}}
    else:
        continue
    send(id=message["id"], result=result)
