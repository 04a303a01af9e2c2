"""A new chat, with the id that the page chose or a random one."""

from __future__ import annotations

from helpers import api, guids


class CreateChat(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        context = self.use_context(input.get("new_context") or guids.generate_id())
        return {"ok": True, "ctxid": context.id, "message": "Context created."}
