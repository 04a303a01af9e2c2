"""helpers.message_queue.log_user_message: a message that was already taken in gets no second bubble.

Why a hook is not enough: the web handlers draw the user's bubble before they call
`communicate`, and the function has no extension point. They look it up on its module
at each call, so one swapped attribute covers `/message`, `/message_async` and the queue.
"""


def log_user_message(original, context, message, attachment_paths, message_id=None, source=""):
    if journaled.already_shown(context, message, attachment_paths, message_id, source):  # noqa: F821 - passed in
        return None
    return original(context, message, attachment_paths, message_id, source)
