"""What a provider keeps of a conversation, and when the next request must not stand on it (I14).

Where it may not, its id is dropped and the host sends the whole prompt. The ids by which the host deletes what is kept
stay. It must never decide what is sent.
"""

from __future__ import annotations

from typing import Any

from .session import Session


def check(session: Session, agent: Any, path: str) -> None:
    """Before a request: an answer that was given back brought its id along, which the provider may not know any more, and
    what it kept may differ from the history as it was rebuilt. And a call without an output is refused with all after it.
    """
    from helpers import history

    given_back = path in session.given_back
    session.given_back.discard(path)
    if given_back or _lacks_an_output(agent):
        history.clear_responses_provider_state(agent)


def _lacks_an_output(agent: Any) -> bool:
    """A call of the kept answer was interrupted by a message, has no tool, or was never made."""
    state = agent.data.get("responses_state")
    if not isinstance(state, dict) or not state.get("response_id"):
        return False
    asked, answered = set(), set()
    for message in agent.history.messages_since(int(state.get("history_counter") or 0) - 1):
        found = (message.metadata or {}).get("responses") or {}
        asked |= _calls(found.get("output_items"), "function_call")
        answered |= _calls(found.get("input_items"), "function_call_output")
    return not asked <= answered


def _calls(items: Any, kind: str) -> set[str]:
    return {str(item.get("call_id") or item.get("id")) for item in items or [] if isinstance(item, dict) and item.get("type") == kind}
