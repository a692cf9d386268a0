"""A small agent made with the protocol's own SDK: it writes a file if it is allowed to, and says so."""

import asyncio
import pathlib
import uuid

import acp
from acp.schema import AgentCapabilities, Implementation, PermissionOption, ToolCallUpdate


class Writer(acp.Agent):
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, **_):
        return acp.InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="writer", version="1"),
        )

    async def new_session(self, cwd, **_):
        self.directory = pathlib.Path(cwd)
        return acp.NewSessionResponse(session_id=uuid.uuid4().hex)

    async def prompt(self, session_id, prompt, **_):
        call = {"tool_call_id": "write", "title": "Write note.txt", "kind": "edit", "raw_input": {"path": "note.txt"}}
        start = acp.start_tool_call("write", "Write note.txt", kind="edit", status="pending", raw_input={"path": "note.txt"})
        await self.client.session_update(session_id, start)
        options = [
            PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
            PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        answer = await self.client.request_permission(
            options=options, session_id=session_id, tool_call=ToolCallUpdate(**call)
        )
        if getattr(answer.outcome, "option_id", None) != "yes":
            return acp.PromptResponse(stop_reason="cancelled")
        (self.directory / "note.txt").write_text(prompt[-1].text)
        await self.client.session_update(session_id, acp.update_tool_call("write", status="completed"))
        await self.client.session_update(session_id, acp.update_agent_message_text("It is written."))
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id, **_):
        pass


asyncio.run(acp.run_agent(Writer()))
