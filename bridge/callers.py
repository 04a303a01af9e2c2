"""What the answer of a waiting caller says beside its text: that the turn was suspended and goes on by itself.

The host builds the body from the text of the turn alone. Its own request is asked for one more look at the answer.
"""

from __future__ import annotations

import json
from typing import Any

from . import notify

_SAID_IN = ("message", "response")  # where `/message` and `/api_message` put the text of a turn


def watch() -> None:
    """To be called where a message is taken in. Who asks without a web request is told by the text alone."""
    import flask

    if flask.has_request_context():
        flask.after_this_request(mark)


def mark(response: Any) -> Any:
    """Add `suspended: true` to an answer whose turn was suspended; every other answer stays as it is."""
    if response.mimetype != "application/json" or response.direct_passthrough:
        return response
    body = response.get_json(silent=True)
    if isinstance(body, dict) and any(body.get(name) == notify.SUSPENDED for name in _SAID_IN):
        response.set_data(json.dumps({**body, "suspended": True}))
    return response
