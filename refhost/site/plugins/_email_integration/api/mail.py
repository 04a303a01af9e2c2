"""A mail that came in. A mail whose arrival was not acknowledged comes again under the same id."""

from __future__ import annotations

from agent import UserMessage
from helpers import api, persist_chat
from helpers import message_queue as mq
from plugins._email_integration.helpers import handler


class Mail(api.ApiHandler):
    async def process(self, input: api.Input, request: api.Request) -> api.Output:
        context = self.use_context(input["context"])
        context.data[handler.CTX_EMAIL_HANDLER] = "post"
        context.data[handler.CTX_EMAIL_SENDER] = input["sender"]
        persist_chat.save_tmp_chat(context)
        mq.log_user_message(context, input["text"], [], input["message_id"])
        context.communicate(UserMessage(input["text"], id=input["message_id"]))
        return {"ok": True}
