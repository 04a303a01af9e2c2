"""The chat model behind an OpenAI-like stream on loopback. Owns the wire, the retries and nothing of the turn."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from helpers.extension import extensible
from helpers.history import OutputMessage, text_of
from helpers.llm_result import LLMResult

RETRY_DELAY_SECONDS = 0.05


@dataclass
class PromptMessage:
    content: str
    type: ClassVar[str] = ""
    role: ClassVar[str] = ""


class SystemMessage(PromptMessage):
    type, role = "system", "system"


class HumanMessage(PromptMessage):
    type, role = "human", "user"


class AIMessage(PromptMessage):
    type, role = "ai", "assistant"


class ModelError(Exception):
    """The provider answered with an error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"Model answered {status}: {text}")
        self.status_code = status


def from_history(messages: list[OutputMessage]) -> list[PromptMessage]:
    """Neighbours of one side become one message."""
    prompt: list[PromptMessage] = []
    for out in messages:
        kind = AIMessage if out["ai"] else HumanMessage
        text = text_of(out["content"])
        if prompt and type(prompt[-1]) is kind:
            prompt[-1].content += f"\n{text}"
        else:
            prompt.append(kind(text))
    return prompt


def get_chat_model(name: str) -> LiteLLMChatWrapper:
    return LiteLLMChatWrapper(model=name, provider="other", api_base=os.environ.get("MODEL_URL", ""))


class LiteLLMChatWrapper:
    def __init__(self, model: str, provider: str, **kwargs: Any) -> None:
        self.model_name = f"{provider}/{model}"
        self.kwargs = kwargs
        self.a0_model_conf: Any = None

    def _convert_messages(self, messages: list[PromptMessage], explicit_caching: bool = False) -> list[dict[str, Any]]:
        return [{"role": message.role, "content": message.content} for message in messages]

    @extensible
    async def unified_call(
        self,
        system_message: str = "",
        user_message: str = "",
        messages: list[PromptMessage] | None = None,
        response_callback: Callable[[str, str], Awaitable[str | None]] | None = None,
        reasoning_callback: Callable[[str, str], Awaitable[None]] | None = None,
        tokens_callback: Callable[[str, int], Awaitable[None]] | None = None,
        rate_limiter_callback: Callable[[str, str, int, int], Awaitable[bool]] | None = None,
        explicit_caching: bool = False,
        **kwargs: Any,
    ) -> tuple[str, str]:
        prompt = self._prompt(system_message, user_message, messages)
        response, reasoning, _ = await self._ask(prompt, response_callback, reasoning_callback, kwargs)
        return response, reasoning

    @extensible
    async def unified_turn(
        self,
        system_message: str = "",
        user_message: str = "",
        messages: list[PromptMessage] | None = None,
        response_callback: Callable[[str, str], Awaitable[str | None]] | None = None,
        reasoning_callback: Callable[[str, str], Awaitable[None]] | None = None,
        tokens_callback: Callable[[str, int], Awaitable[None]] | None = None,
        rate_limiter_callback: Callable[[str, str, int, int], Awaitable[bool]] | None = None,
        explicit_caching: bool = False,
        **kwargs: Any,
    ) -> LLMResult:
        prompt = self._prompt(system_message, user_message, messages)
        response, reasoning, calls = await self._ask(prompt, response_callback, reasoning_callback, kwargs)
        return LLMResult.from_chat(
            response=response, reasoning=reasoning, input_items=prompt, output_items=calls, provider_model_key=self.model_name
        )

    def _prompt(self, system: str, user: str, messages: list[PromptMessage] | None) -> list[dict[str, Any]]:
        before = [SystemMessage(system)] if system else []
        after = [HumanMessage(user)] if user else []
        return self._convert_messages([*before, *(messages or []), *after])

    async def _ask(
        self,
        prompt: list[dict[str, Any]],
        response_callback: Callable[[str, str], Awaitable[str | None]] | None,
        reasoning_callback: Callable[[str, str], Awaitable[None]] | None,
        kwargs: dict[str, Any],
    ) -> tuple[str, str, list[dict[str, Any]]]:
        """Asks again when the provider failed before its first word; several requests can be one call."""
        attempts = int(kwargs.get("a0_retry_attempts", self.kwargs.get("a0_retry_attempts", 2)))
        while True:
            response, reasoning = "", ""
            calls: list[dict[str, Any]] = []
            try:
                async with aclosing(self._stream(prompt)) as deltas:
                    async for delta in deltas:
                        more = delta.get("reasoning_content") or ""
                        reasoning += more
                        if more and reasoning_callback:
                            await reasoning_callback(more, reasoning)
                        more = delta.get("content") or ""
                        response += more
                        if more and response_callback:
                            whole = await response_callback(more, response)
                            if whole is not None:
                                return whole, reasoning, calls
                        calls += delta.get("function_calls") or []
                return response, reasoning, calls
            except Exception as error:
                if response or reasoning or calls or not _is_transient_litellm_error(error) or attempts <= 0:
                    raise
                attempts -= 1
                await asyncio.sleep(RETRY_DELAY_SECONDS)

    async def _stream(self, prompt: list[dict[str, Any]]) -> AsyncGenerator[dict[str, Any]]:
        url = urlsplit(self.kwargs["api_base"])
        body = json.dumps({"model": self.model_name, "messages": prompt, "stream": True}).encode()
        reader, writer = await asyncio.open_connection(url.hostname, url.port, limit=2**24)
        try:
            head = f"POST {url.path}/chat/completions HTTP/1.0\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
            status = int((await reader.readline() or b"HTTP/1.0 0").split()[1])
            while (await reader.readline()).strip():
                continue  # headers
            if status != 200:
                raise ModelError(status, (await reader.read()).decode())
            while line := await reader.readline():
                if line.strip() == b"data: [DONE]":
                    return
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])["choices"][0]["delta"]
            raise ConnectionResetError("The model's stream broke off.")
        finally:
            writer.close()


def _is_transient_litellm_error(exc: Exception) -> bool:
    if isinstance(exc, ModelError):
        return exc.status_code in (0, 408, 429) or exc.status_code >= 500
    return isinstance(exc, ConnectionError)
