"""A model call: its position, its intent, its record served, its result."""

from __future__ import annotations

import hashlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ..journal.modes import HOSTED_TOOLS
from ..journal.records import REQUESTS, Call, Outcome, Permission, Serve
from . import deliveries, heartbeat, hosted, messages, outcomes, provider, spending
from .bindings import Binding, bound, current_call, of_agent
from .session import Session

if TYPE_CHECKING:
    from .activation import Activation

_KEY = "_durable_model"
_TOOL_CALLS = ("function_call", "computer_call")
_failed: ContextVar[list[Exception] | None] = ContextVar("durable_execution_failed_requests", default=None)
_PROMPT_COPY = ("input_items", "raw")  # the whole prompt, and raw provider data


def turn_start(active: Activation, agent: Any) -> None:
    """Count the step; the call below, which knows no agent, finds it in a context variable."""
    session = of_agent(agent)
    path = session.position.path_of(agent) if session is not None else None
    current_call.set((session.position.begin_model_call(path), agent) if session is not None and path is not None else None)
    if session is not None and path is not None:
        provider.check(session, agent, path)


async def call_start(active: Activation, data: dict[str, Any]) -> None:
    """Write the intent before the request goes out, or serve the recorded answer (I1)."""
    placed, binding = current_call.get(), bound.get()
    if placed is None or binding is None:
        await heartbeat.check()
        return
    current_call.set(None)
    key, agent = placed
    session = of_agent(agent)
    if session is None:
        return
    kwargs = data["kwargs"]
    name = str(getattr(data["args"][0], "model_name", "") or "model")
    before = list(session.just_delivered) if session.position.is_divided(agent) else []  # no resume point says that they stood there
    session.just_delivered.clear()
    offered = hosted.are_offered(data["args"][0], kwargs)
    if offered:
        kwargs[hosted.RETRIES] = 0
    step = await session.begin(
        key,
        name=name,
        identity_of=[key.path, key.step],
        arguments={"model": name, "prompt": _prompt_digest(kwargs.get("messages") or [])},
        permission=Permission(None, None),
        unservable=_unservable,
        extra={HOSTED_TOOLS: offered, **({messages.BEFORE: before} if before else {})},
    )
    if isinstance(step, Serve):
        await _serve(session, agent, step.call, data)
    else:
        data[_KEY] = (binding, step.call, (agent.get_data("ctx_window") or {}).get("tokens"))
        _failed.set([])


def request_failed(error: Exception) -> None:
    """The provider gave nothing for a request, inside a call: the host may send it again."""
    failed = _failed.get()
    if failed is not None:
        failed.append(error)


def _requests(error: Exception | None) -> dict[str, Any]:
    """How often the provider was asked in the call that ends now. They count as one call, with the usage of its answer."""
    failed = _failed.get() or []
    _failed.set(None)
    asked = len(failed) + (not failed or failed[-1] is not error)
    return {REQUESTS: asked} if asked > 1 else {}


async def call_end(active: Activation, data: dict[str, Any]) -> None:
    """Save the result before anything acts on it. Nothing here may raise: the answer was paid for."""
    found: tuple[Binding, Call, Any] | None = data.get(_KEY)
    if found is None:
        return
    binding, call, prompt_tokens = found
    session = binding.session
    if data["exception"] is not None and not binding.is_current:
        return  # we cut it off ourselves: that is not how the model answered
    outcome, value, extra = _outcome(session, data)
    _note_asked(session, call, data["result"] if outcome is Outcome.OK else None)
    extra |= _requests(data["exception"])
    await session.finish(call, outcome, value, usage=_usage(outcome, value, prompt_tokens), extra=extra)
    try:
        await heartbeat.check(call.call_id)
    except Exception as silent:  # the answer is saved; the host acts on nothing of it
        data["exception"] = silent


def _outcome(session: Session, data: dict[str, Any]) -> tuple[Outcome, Any, dict[str, Any]]:
    from helpers.errors import InterventionException

    error = data["exception"]
    if error is None:
        result = data["result"].to_dict()
        return Outcome.OK, {k: v for k, v in result.items() if k not in _PROMPT_COPY}, deliveries.preview_of(session.context())
    if isinstance(error, InterventionException):
        return Outcome.SUPERSEDED, None, {"delivered": list(session.just_delivered)}
    return Outcome.ERROR, outcomes.describe(error), {}


def _note_asked(session: Session, call: Call, result: Any) -> None:
    """How many tool calls the host is going to make for this answer, one after another."""
    items = [item.type for item in getattr(result, "output_items", ())]
    session.position.asked[call.key.path] = sum(kind in _TOOL_CALLS for kind in items)


def _unservable(call: Call) -> str:
    if call.outcome is not Outcome.OK:
        return ""
    whole = isinstance(call.value, dict) and isinstance(call.value.get("response"), str)
    return "" if whole else "The saved answer of the model cannot be given back."


async def _serve(session: Session, agent: Any, call: Call, data: dict[str, Any]) -> None:
    from helpers.errors import InterventionException
    from helpers.llm_result import LLMResult

    if call.outcome is Outcome.SUPERSEDED:
        messages.deliver_recorded(session, agent, list(call.extra.get("delivered", [])))
        data["exception"] = InterventionException()
        return
    if call.outcome is Outcome.ERROR:
        data["exception"] = outcomes.rebuild(call.value)  # handed over, not raised: the host handles it as its own
        return
    result = LLMResult.from_dict(call.value)
    _note_asked(session, call, result)
    session.given_back.add(call.key.path)
    kwargs = data["kwargs"]
    deliveries.put_preview_back(agent.context, call)
    session.giving_back = True
    try:  # the stream callbacks draw the bubbles: once, with the whole text
        if result.reasoning and kwargs.get("reasoning_callback"):
            await kwargs["reasoning_callback"](result.reasoning, result.reasoning)
        if result.response and kwargs.get("response_callback"):
            await kwargs["response_callback"](result.response, result.response)
    finally:
        session.giving_back = False
    data["result"] = result


def _prompt_digest(prompt: list[Any]) -> str:
    """Digest of roles and contents, for diagnosis only: prompts differ innocently."""
    parts = [f"{getattr(message, 'type', '')}{getattr(message, 'content', message)}" for message in prompt]
    return hashlib.sha256("".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _usage(outcome: Outcome, value: Any, prompt_tokens: Any) -> dict[str, Any] | None:
    return spending.of_result(value, prompt_tokens) if outcome is Outcome.OK else None
