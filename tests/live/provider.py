"""The Responses protocol of a provider that keeps the conversation, for the scripted model.

Owns what the model sees: the stored conversation of an earlier answer, then the new input. As a provider does, it
refuses an answer that it does not know, and a conversation in which a call has no output, or more than one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

USAGE = {"input_tokens": 70, "output_tokens": 7, "total_tokens": 77}

type Items = list[dict[str, Any]]


class Refused(Exception):
    """What the provider answers with status 400, and about which field."""

    def __init__(self, message: str, param: str) -> None:
        super().__init__(message)
        self.body = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": None}}


class Provider:
    def __init__(self) -> None:
        self._kept: dict[str, Items] = {}

    def seen(self, body: dict[str, Any]) -> Items:
        """Everything that the model is shown by this request, in order."""
        before = body.get("previous_response_id")
        if before and before not in self._kept:
            raise Refused(f"Previous response with id '{before}' not found.", "previous_response_id")
        given = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
        items = [*self._kept.get(before or "", []), *given]
        calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
        outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        for call in calls:
            if outputs.count(call) != 1:
                raise Refused(f"{outputs.count(call)} tool outputs found for function call {call}.", "input")
        for output in outputs:
            if output not in calls:
                raise Refused(f"No tool call found for function call output with call_id {output}.", "input")
        return items

    def forget(self) -> None:
        """What was kept is gone, as after the time that a provider keeps it."""
        self._kept.clear()

    def keep(self, response: str, items: Items) -> None:
        self._kept[response] = items


def messages(items: Items) -> list[dict[str, Any]]:
    """The same conversation in the form of chat messages."""
    return [_message(item) for item in items]


def _message(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "function_call":
        return {"role": "assistant", "content": f"{item['name']} {item['arguments']}"}
    if item.get("type") == "function_call_output":
        return {"role": "tool", "content": item["output"]}
    return {"role": item["role"], "content": item["content"]}


def output(number: int, text: str, calls: tuple[str, ...]) -> Items:
    """The items of one answer: words, then native calls. Each call is given as the text that asks for the same tool."""
    items: Items = []
    if text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content})
    for place, call in enumerate(map(json.loads, calls)):
        named = {"id": f"fc_{number}_{place}", "call_id": f"call_{number}_{place}", "name": call["tool_name"]}
        items.append({"type": "function_call", "status": "completed", "arguments": json.dumps(call["tool_args"]), **named})
    return items


def response(number: int, body: dict[str, Any], items: Items, status: str = "completed") -> dict[str, Any]:
    whole: dict[str, Any] = {"id": f"resp_{number}", "object": "response", "created_at": 0, "status": status, "model": body["model"]}
    whole |= {"output": items, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None}
    return whole | {"previous_response_id": body.get("previous_response_id"), "usage": USAGE if status == "completed" else None}


def events(number: int, body: dict[str, Any], items: Items, piece: int) -> Iterator[dict[str, Any]]:
    """The stream of one answer, as the provider sends it."""
    yield {"type": "response.created", "response": response(number, body, [], "in_progress")}
    for index, item in enumerate(items):
        at = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            yield {"type": "response.output_item.added", "output_index": index, "item": item | {"status": "in_progress", "content": []}}
            text = item["content"][0]["text"]
            for start in range(0, len(text), piece):
                yield {"type": "response.output_text.delta", "content_index": 0, "delta": text[start : start + piece], **at}
            yield {"type": "response.output_text.done", "content_index": 0, "text": text, **at}
        else:
            yield {"type": "response.output_item.added", "output_index": index, "item": item | {"status": "in_progress", "arguments": ""}}
            yield {"type": "response.function_call_arguments.delta", "delta": item["arguments"], **at}
            yield {"type": "response.function_call_arguments.done", "arguments": item["arguments"], **at}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": response(number, body, items)}
