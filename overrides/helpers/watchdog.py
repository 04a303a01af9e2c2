"""helpers.watchdog._is_same_or_nested: what the journal writes is no change of a file that the host has to hear of.

Why a hook is not enough: the host watches all of `usr/` and starts a thread for each write that it hears of, some thirty in a plain
turn, which takes longer than the journal's own work. It has no extension point there. It looks this function up on its module for
each event.
"""


def _is_same_or_nested(original, path, root):
    return original(path, root) and not journaled.is_own_file(path)  # noqa: F821 - passed in
