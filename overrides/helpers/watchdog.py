"""helpers.watchdog._DispatchHandler.dispatch: what the journal writes is no change of a file that the host has to hear of.

Why a hook is not enough: the host watches all of `usr/` and starts a thread for each write that it hears of, some thirty in a plain
turn, which takes longer than the journal's own work. It has no extension point there.

Here and not one step later: behind this the host takes a lock that it holds itself while it begins to watch, and the thread of the
watchers holds another that it needs for that. A file that is written in that moment stops the start of the host for good.
"""


class _DispatchHandler:
    def dispatch(original, self, event):
        own = journaled.is_own_file  # noqa: F821 - passed in
        if not all(own(path) for path in (event.src_path, event.dest_path) if path):
            original(self, event)
