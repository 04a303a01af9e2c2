"""models._is_transient_litellm_error: a request that failed inside a model call is heard of before the host sends it again.

Why a hook is not enough: the host asks a provider again inside one call, and has no extension point there. It looks this
function up on its module for each request that brought nothing.
"""


def _is_transient_litellm_error(original, exc):
    journaled.request_failed(exc)  # noqa: F821 - passed in
    return original(exc)
