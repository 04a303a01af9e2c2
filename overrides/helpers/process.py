"""helpers.process.reload: before the server starts over, everything that runs is put aside.

Why a hook is not enough: the function has no extension point, and outside a container it replaces the process image
at once. It is looked up on its module at each restart, so one swapped attribute covers it.
"""


def reload(original):
    journaled.before_restart()  # noqa: F821 - passed in
    return original()
