"""helpers.message_queue: no second bubble for a message that was taken in, and queued items keep their ids.

Why a hook is not enough: the web handlers draw the user's bubble before they call `communicate`, the queue gives each
item a new id when it sends it, and neither has an extension point. All of them look these functions up on their module
at each call, so that swapped attributes cover `/message`, `/message_async`, the queue's routes and its sending at the end of a turn.
"""


def log_user_message(original, context, message, attachment_paths, message_id=None, source=""):
    message_id = journaled.queued_id(message_id)  # noqa: F821 - passed in
    if journaled.already_shown(context, message, attachment_paths, message_id, source):  # noqa: F821
        return None
    return original(context, message, attachment_paths, message_id, source)


def add(original, context, text, attachments=None, item_id=None):
    known = journaled.queued_before(context, item_id, text)  # noqa: F821
    if known is not None:
        return known
    item = original(context, text, attachments, item_id)
    journaled.queue_added(context, item)  # noqa: F821
    return item


def remove(original, context, item_id=None):
    left = original(context, item_id)
    journaled.queue_changed(context)  # noqa: F821
    return left


def send_message(original, context, item, source=" (from queue)"):
    with journaled.sending(context, [item]):  # noqa: F821
        return original(context, item, source)


def send_all_aggregated(original, context):
    with journaled.sending(context, None):  # noqa: F821
        return original(context)
