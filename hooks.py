"""What the plugin installer calls. Forwards; keeps nothing.

Only the standard library is used at run time, so nothing is installed here.
"""


def install():
    """After an install or an update: an update of loaded code takes effect at the next restart."""
    from usr.plugins.durable_execution.bridge import edition

    edition.files_changed()


def pre_update():
    """Before the files change: stop the work and undo the adapters; running chats refuse it."""
    from usr.plugins.durable_execution.bridge import lifecycle

    lifecycle.deactivate()


def uninstall():
    """Before the folder goes: undo everything. The data outside the folder stays."""
    from usr.plugins.durable_execution.bridge import lifecycle

    lifecycle.leave()


def save_plugin_config(settings=None, project_name="", agent_profile="", **kwargs):
    """Refuse settings that are not what they must be; the host then writes nothing."""
    from usr.plugins.durable_execution.bridge import settings as own

    return own.checked(settings or {}, scoped=bool(project_name or agent_profile))
