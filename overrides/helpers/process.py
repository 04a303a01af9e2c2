"""helpers.process: the server is watched from its making on, and before it starts over everything that runs is put aside.

Why a hook is not enough: neither function has an extension point. Between the moment in which the port answers and a
later look at the server a turn can begin and a signal can come; and outside a container `reload` replaces the process
image at once. Both are looked up on their module each time, so one swapped attribute covers each.
"""


def set_server(original, server):
    original(server)
    journaled.server_made()  # noqa: F821 - passed in


def reload(original):
    journaled.before_restart()  # noqa: F821 - passed in
    return original()
