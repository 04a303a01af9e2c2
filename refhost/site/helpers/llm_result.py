"""One answer of a model, with what the provider said beside the text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any

RESPONSE_METADATA_KEY = "responses"
_NO_BUILTIN = {"", "message", "reasoning", "function_call"}


@dataclass
class ResponseItem:
    type: str
    data: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_any(cls, item: Any) -> ResponseItem:
        data = item.to_dict() if isinstance(item, ResponseItem) else dict(item)
        return cls(type=str(data.get("type") or ""), data=data)

    def to_dict(self) -> dict[str, Any]:
        return dict(self.data)


@dataclass
class ResponseFunctionCall:
    name: str
    arguments: dict[str, Any]
    call_id: str
    item_id: str = ""
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass
class LLMResult:
    response: str = ""
    reasoning: str = ""
    response_id: str = ""
    previous_response_id: str = ""
    input_items: list[dict[str, Any]] = field(default_factory=list)
    output_items: list[ResponseItem] = field(default_factory=list)
    provider_model_key: str = ""
    mode: str = "responses"
    state: str = "provider"
    usage: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, Any] = field(default_factory=dict)
    capability: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: dict[str, Any] | None) -> LLMResult:
        known = {key: value for key, value in (data or {}).items() if key in cls.__dataclass_fields__}
        known["output_items"] = [ResponseItem.from_any(item) for item in known.get("output_items") or []]
        return cls(**known)

    @classmethod
    def from_chat(
        cls,
        *,
        response: str,
        reasoning: str = "",
        input_items: list[dict[str, Any]] | None = None,
        output_items: list[dict[str, Any]] | None = None,
        provider_model_key: str = "",
        capability: dict[str, Any] | None = None,
    ) -> LLMResult:
        items = list(output_items or [])
        if response and not items:
            content = [{"type": "output_text", "text": response}]
            items.append({"type": "message", "role": "assistant", "content": content})
        if reasoning:
            items.insert(0, {"type": "reasoning", "summary": [{"type": "summary_text", "text": reasoning}]})
        result = cls(
            response=response,
            reasoning=reasoning,
            input_items=list(input_items or []),
            output_items=[ResponseItem.from_any(item) for item in items],
            provider_model_key=provider_model_key,
            mode="chat_completions",
            state="off",
            capability=dict(capability or {}),
        )
        result.response = result.response or result.function_calls_text()
        return result

    @property
    def function_calls(self) -> list[ResponseFunctionCall]:
        """Arguments are parsed anew at each access: changing them changes no record."""
        items = [item.data for item in self.output_items if item.type == "function_call" and item.data.get("name")]
        return [
            ResponseFunctionCall(
                name=str(item["name"]),
                arguments=parse_arguments(item.get("arguments")),
                call_id=str(item.get("call_id") or item.get("id") or ""),
                item_id=str(item.get("id") or ""),
                raw=dict(item),
            )
            for item in items
        ]

    @property
    def builtin_items(self) -> list[ResponseItem]:
        return [item for item in self.output_items if item.type not in _NO_BUILTIN]

    def function_calls_text(self) -> str:
        calls = [{"tool_name": call.name, "tool_args": call.arguments} for call in self.function_calls]
        if len(calls) > 1:
            return json.dumps({"tool_name": "parallel_tool_calls", "tool_args": {"calls": calls}})
        return json.dumps(calls[0]) if calls else ""

    def to_dict(self) -> dict[str, Any]:
        """Its own parts, not copied; the prompt is one of them."""
        parts = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**parts, "output_items": [item.to_dict() for item in self.output_items]}

    def metadata(self) -> dict[str, Any]:
        """What the history keeps: neither the prompt nor the raw answer."""
        left_out = ("response", "reasoning", "input_items", "raw")
        return {RESPONSE_METADATA_KEY: {k: v for k, v in self.to_dict().items() if k not in left_out}}


def parse_arguments(raw: Any) -> dict[str, Any]:
    try:
        parsed = json.loads(raw or "{}") if isinstance(raw, str) else raw
    except ValueError:
        parsed = raw
    return dict(parsed) if isinstance(parsed, dict) else {"arguments": parsed}


def function_call_output_item(call_id: str, output: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def metadata_from_llm_result(result: LLMResult | None) -> dict[str, Any]:
    return result.metadata() if result else {}


def result_from_metadata(metadata: dict[str, Any] | None) -> LLMResult | None:
    data = (metadata or {}).get(RESPONSE_METADATA_KEY)
    return LLMResult.from_dict(data) if isinstance(data, dict) else None
