"""plugins._telegram_integration.helpers.draft_stream: an update in the middle of a turn is a reply as well.

Why a hook is not enough: the functions have no extension point and are looked up on their module. If the last change of
the message that showed the answer may have arrived, the host must not send the answer as a second message.
"""


async def send_intermediate_response(original, context, response_text, keyboard=None):
    async def send(ctx, text, attachments):
        return await original(ctx, text, keyboard)

    return await journaled.deliver("telegram_update", send, context, response_text, None)  # noqa: F821 - passed in


async def finalize_response(original, context, response_text, keyboard=None):
    done = await original(context, response_text, keyboard)
    if not done:
        journaled.check_silence()  # noqa: F821
    return done
