"""helpers.extension._get_extension_classes: while a recorded step is given back, hooks that would send again are left out.

Why a hook is not enough: a hook cannot keep another plugin's hook from running. Both ways of calling hooks look this
function up on their module at each call. The host's list is cached, so it is never changed, a shorter one is made.
"""

LOOKED_AT = (
    "tool_execute_before",
    "tool_execute_after",
    "response_stream",
    "process_chain_end",
    "_functions/agent/Agent/handle_exception/end",
)


def _get_extension_classes(original, extension_point, agent=None, **kwargs):
    found = original(extension_point, agent=agent, **kwargs)
    if extension_point in LOOKED_AT:
        return journaled.hooks(extension_point, agent, found)  # noqa: F821 - passed in
    return found
