"""Chats and agents: how a message becomes a turn, and the loop of a turn. All chats run on one event-loop thread.

Names, signatures and the order of events are the host's; a hook may sit at every `@extensible` and at every point.
This file is longer than others because the host has both classes in one module.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, ClassVar

import models
from helpers import context as context_helper
from helpers import extension, extract_tools, files, guids, history, subagents
from helpers import log as log_helper
from helpers.defer import DeferredTask
from helpers.errors import InterventionException
from helpers.llm_result import RESPONSE_METADATA_KEY, LLMResult, function_call_output_item, metadata_from_llm_result
from helpers.localization import Localization
from helpers.tokens import approximate_tokens


class AgentContextType(Enum):
    USER = "user"
    TASK = "task"
    BACKGROUND = "background"


class AgentContext:
    _contexts: ClassVar[dict[str, AgentContext]] = {}
    _contexts_lock = threading.RLock()
    _counter = 0
    _notification_manager: Any = None

    @extension.extensible
    def __init__(
        self,
        config: AgentConfig,
        id: str | None = None,
        name: str | None = None,
        agent0: Agent | None = None,
        log: log_helper.Log | None = None,
        paused: bool = False,
        streaming_agent: Agent | None = None,
        created_at: datetime | None = None,
        type: AgentContextType = AgentContextType.USER,
        last_message: datetime | None = None,
        data: dict[str, Any] | None = None,
        output_data: dict[str, Any] | None = None,
        set_current: bool = False,
    ) -> None:
        self.id = id or AgentContext.generate_id()
        self.name = name
        self.config = config
        self.data = data or {}
        self.output_data = output_data or {}
        self.log = log or log_helper.Log()
        self.log.context = self
        self.paused = paused
        self.streaming_agent = streaming_agent
        self.task: DeferredTask | None = None
        self.created_at = created_at or Localization.get().now()
        self.type = type
        AgentContext._counter += 1
        self.no = AgentContext._counter
        self.last_message = last_message or Localization.get().now()
        with AgentContext._contexts_lock:  # the host does this first, and a page that asks in between gets an error
            replaced = AgentContext._contexts.pop(self.id, None)
            AgentContext._contexts[self.id] = self
        if replaced and replaced.task:
            replaced.task.kill()
        if set_current:
            AgentContext.set_current(self.id)
        self.agent0 = agent0 or Agent(0, self.config, self)  # last: agents look at their context

    @staticmethod
    def get(id: str) -> AgentContext | None:
        return AgentContext._contexts.get(id)

    @staticmethod
    def use(id: str) -> AgentContext | None:
        context = AgentContext.get(id)
        AgentContext.set_current(id if context else "")
        return context

    @staticmethod
    def current() -> AgentContext | None:
        return AgentContext.get(context_helper.get_context_data("agent_context_id", ""))

    @staticmethod
    def set_current(ctxid: str) -> None:
        context_helper.set_context_data("agent_context_id", ctxid)

    @staticmethod
    def first() -> AgentContext | None:
        return next(iter(AgentContext.all()), None)

    @staticmethod
    def all() -> list[AgentContext]:
        with AgentContext._contexts_lock:
            return list(AgentContext._contexts.values())

    @staticmethod
    def generate_id() -> str:
        return guids.generate_id()

    @classmethod
    def get_notification_manager(cls) -> Any:
        from helpers.notification import NotificationManager

        cls._notification_manager = cls._notification_manager or NotificationManager()
        return cls._notification_manager

    @staticmethod
    @extension.extensible
    def remove(id: str) -> AgentContext | None:
        with AgentContext._contexts_lock:
            context = AgentContext._contexts.pop(id, None)
        if context and context.task:
            context.task.kill()
        return context

    def get_data(self, key: str, recursive: bool = True) -> Any:
        return self.data.get(key)

    def set_data(self, key: str, value: Any, recursive: bool = True) -> None:
        self.data[key] = value

    def get_output_data(self, key: str, recursive: bool = True) -> Any:
        return self.output_data.get(key)

    def set_output_data(self, key: str, value: Any, recursive: bool = True) -> None:
        self.output_data[key] = value

    def output(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "created_at": self.created_at.isoformat(),
            "no": self.no,
            "log_guid": self.log.guid,
            "log_version": len(self.log.updates),
            "log_length": len(self.log.logs),
            "paused": self.paused,
            "last_message": self.last_message.isoformat(),
            "type": self.type.value,
            "running": self.is_running(),
            **self.output_data,
        }

    @extension.extensible
    def kill_process(self) -> None:
        if self.task:
            self.task.kill()

    @extension.extensible
    def reset(self) -> None:
        self.kill_process()
        self.log.reset()
        self.agent0 = Agent(0, self.config, self)
        self.streaming_agent = None
        self.paused = False

    @extension.extensible
    def nudge(self) -> DeferredTask:
        self.kill_process()
        self.paused = False
        self.task = self.communicate(UserMessage(self.agent0.read_prompt("fw.msg_nudge.md")))
        return self.task

    @extension.extensible
    def get_agent(self) -> Agent:
        return self.streaming_agent or self.agent0

    def is_running(self) -> bool:
        return bool(self.task and self.task.is_alive())

    @extension.extensible
    def communicate(self, msg: UserMessage, broadcast_level: int = 1) -> DeferredTask:
        """Starts a turn, or leaves the message for the running one. One slot: a second message overwrites the first."""
        self.paused = False
        agent: Agent | None = self.get_agent()
        if self.task and self.task.is_alive():
            while agent and broadcast_level != 0:
                agent.intervention = msg
                broadcast_level -= 1
                agent = agent.data.get(Agent.DATA_NAME_SUPERIOR)
        else:
            self.task = self.run_task(self._process_chain, agent, msg)
        return self.task

    @extension.extensible
    def run_task(self, func: Callable[..., Coroutine[Any, Any, Any]], *args: Any, **kwargs: Any) -> DeferredTask:
        self.task = self.task or DeferredTask(thread_name=type(self).__name__)
        self.task.start_task(func, *args, **kwargs)
        return self.task

    @extension.extensible
    async def _process_chain(self, agent: Agent, msg: UserMessage | str, user: bool = True) -> str | None:
        """Runs one turn; a subordinate's answer goes up to its superior, whose own call stack may be gone."""
        try:
            if user:
                agent.hist_add_user_message(msg)
            else:
                agent.hist_add_tool_result("call_subordinate", msg)
            response = await agent.monologue()
            superior = agent.data.get(Agent.DATA_NAME_SUPERIOR)
            if superior:
                response = await self._process_chain(superior, response, False)
            await extension.call_extensions_async("process_chain_end", agent=self.get_agent(), data={})
            return response
        except Exception as error:
            await self.handle_exception("process_chain", error)
            return None

    @extension.extensible
    async def handle_exception(self, location: str, exception: Exception) -> None:
        if exception:
            raise exception


@dataclass
class AgentConfig:
    mcp_servers: str
    profile: str = ""
    knowledge_subdirs: list[str] = field(default_factory=list)
    additional: dict[str, Any] = field(default_factory=dict)


@dataclass
class UserMessage:
    message: str
    attachments: list[str] = field(default_factory=list)
    system_message: list[str] = field(default_factory=list)
    id: str = ""


class LoopData:
    """State of one monologue; never saved."""

    def __init__(self, **kwargs: Any) -> None:
        self.iteration = -1
        self.system: list[str] = []
        self.user_message: history.Message | None = None
        self.history_output: list[history.OutputMessage] = []
        self.extras_temporary: OrderedDict[str, Any] = OrderedDict()
        self.extras_persistent: OrderedDict[str, Any] = OrderedDict()
        self.last_response = ""
        self.params_temporary: dict[str, Any] = {}
        self.params_persistent: dict[str, Any] = {}
        self.current_tool: Any = None
        self.__dict__.update(kwargs)


class Agent:
    DATA_NAME_SUPERIOR = "_superior"
    DATA_NAME_SUBORDINATE = "_subordinate"
    DATA_NAME_CTX_WINDOW = "ctx_window"
    DATA_NAME_RESPONSES_STATE = "responses_state"
    DATA_NAME_RESPONSES_TOOL_NAME_MAP = "responses_tool_name_map"

    loop_data: LoopData  # absent until the first monologue, or the greeting

    @extension.extensible
    def __init__(self, number: int, config: AgentConfig, context: AgentContext | None = None) -> None:
        self.config = config
        self.context = context or AgentContext(config=config, agent0=self)
        self.number = number
        self.agent_name = f"A{number}"
        self.history = history.History(self)
        self.last_user_message: history.Message | None = None
        self.intervention: UserMessage | None = None
        self.data: dict[str, Any] = {}
        extension.call_extensions_sync("agent_init", self)

    @extension.extensible
    async def monologue(self) -> str:
        while True:  # again after an exception that a hook cleared
            try:
                self.loop_data = LoopData(user_message=self.last_user_message)
                await self._point("monologue_start", loop_data=self.loop_data)
                while True:
                    self.context.streaming_agent = self
                    self.loop_data.iteration += 1
                    self.loop_data.params_temporary = {}
                    await self._point("message_loop_start", loop_data=self.loop_data)
                    await self.handle_intervention()
                    try:
                        answer = await self._step()
                        if answer:
                            return answer
                    except Exception as error:
                        await self.handle_exception("message_loop", error)
                    finally:
                        await self._point_if_alive("message_loop_end")
            except Exception as error:
                await self.handle_exception("monologue", error)
            finally:
                self.context.streaming_agent = None
                await self._point_if_alive("monologue_end")

    async def _step(self) -> str | None:
        """One question to the model and the tools that it asks for. A true answer ends the turn."""
        prompt = await self.prepare_prompt(loop_data=self.loop_data)
        await self._point("before_main_llm_call", loop_data=self.loop_data)
        await self.handle_intervention()
        result = await self.call_chat_model_turn(
            messages=prompt, response_callback=self._on_response, reasoning_callback=self._on_reasoning
        )
        await self.handle_intervention(result.response)
        for point in ("reasoning_stream_end", "response_stream_end"):
            await self._point(point, loop_data=self.loop_data)
            await self.handle_intervention(result.response)
        repeated = self.loop_data.last_response == result.response
        item = self.loop_data.params_temporary.get("log_item_generating")
        self.hist_add_ai_response(result.response, id=item.id if item else "", llm_result=result)
        if repeated:
            self._warn(self.read_prompt("fw.msg_repeat.md"))
            return None
        return await self.process_llm_result_tools(result)

    async def _on_reasoning(self, chunk: str, full: str) -> None:
        await self.handle_intervention()
        stream = {"chunk": chunk, "full": full}
        await self._point("reasoning_stream_chunk", loop_data=self.loop_data, stream_data=stream)
        await self.handle_intervention()
        await self._point("reasoning_stream", loop_data=self.loop_data, text=stream["full"])

    async def _on_response(self, chunk: str, full: str) -> str | None:
        """Ends the stream by returning the text, as soon as it is a whole tool call."""
        await self.handle_intervention()
        if extract_tools.extract_tool_request(full) is not None:
            await self._on_text(full)
            return full.strip()
        stream = {"chunk": chunk, "full": full}
        await self._point("response_stream_chunk", loop_data=self.loop_data, stream_data=stream)
        await self._on_text(stream["full"])
        return None

    async def _on_text(self, text: str) -> None:
        await self.handle_intervention()
        parsed = extract_tools.json_parse_dirty(text)
        if parsed is not None:
            await self._point("response_stream", loop_data=self.loop_data, text=text, parsed=parsed)

    @extension.extensible
    async def prepare_prompt(self, loop_data: LoopData) -> list[models.PromptMessage]:
        self.context.log.set_progress("Building prompt")
        await self._point("message_loop_prompts_before", loop_data=loop_data)
        loop_data.system = await self.get_system_prompt(loop_data)
        loop_data.history_output = self.history.output()
        await self._point("message_loop_prompts_after", loop_data=loop_data)
        extras = "\n".join({**loop_data.extras_persistent, **loop_data.extras_temporary}.values())
        loop_data.extras_temporary.clear()
        messages = [*loop_data.history_output, {"ai": False, "content": f"[EXTRAS]\n{extras}"}]
        prompt = [models.SystemMessage("\n\n".join(loop_data.system)), *models.from_history(messages)]
        text = "\n".join(f"{message.type}: {message.content}" for message in prompt)
        self.set_data(Agent.DATA_NAME_CTX_WINDOW, {"text": text, "tokens": approximate_tokens(text)})
        return prompt

    @extension.extensible
    async def handle_exception(self, location: str, exception: Exception) -> None:
        if exception:
            raise exception  # what is to be done about it is decided by the hooks at the end

    @extension.extensible
    async def get_system_prompt(self, loop_data: LoopData) -> list[str]:
        system_prompt: list[str] = []
        await self._point("system_prompt", system_prompt=system_prompt, loop_data=loop_data)
        return system_prompt

    @extension.extensible
    def parse_prompt(self, _prompt_file: str, **kwargs: Any) -> Any:
        return files.parse_prompt_file(_prompt_file, subagents.get_paths(self, "prompts"), **kwargs)

    @extension.extensible
    def read_prompt(self, file: str, **kwargs: Any) -> str:
        return files.read_prompt_file(file, subagents.get_paths(self, "prompts"), **kwargs)

    def get_data(self, field: str) -> Any:
        return self.data.get(field)

    def set_data(self, field: str, value: Any) -> None:
        self.data[field] = value

    @extension.extensible
    def hist_add_message(
        self,
        ai: bool,
        content: history.MessageContent,
        tokens: int = 0,
        id: str = "",
        metadata: dict[str, Any] | None = None,
    ) -> history.Message:
        data = {"content": content}
        extension.call_extensions_sync("hist_add_before", self, content_data=data, ai=ai)
        return self.history.add_message(ai=ai, content=data["content"], tokens=tokens, id=id, metadata=metadata)

    @extension.extensible
    def hist_add_user_message(self, message: UserMessage, intervention: bool = False) -> history.Message:
        self.history.new_topic()
        content = self.parse_prompt(
            "fw.intervention.md" if intervention else "fw.user_message.md",
            message=message.message,
            attachments=message.attachments,
            system_message=message.system_message,
        )
        content = {key: value for key, value in content.items() if value}
        self.last_user_message = self.hist_add_message(False, content=content, id=message.id)
        return self.last_user_message

    @extension.extensible
    def hist_add_ai_response(self, message: str, id: str = "", llm_result: LLMResult | None = None) -> history.Message:
        self.loop_data.last_response = message
        return self.hist_add_message(True, content=message, id=id, metadata=metadata_from_llm_result(llm_result))

    @extension.extensible
    def hist_add_warning(self, message: history.MessageContent, id: str = "") -> history.Message:
        return self.hist_add_message(False, content=self.parse_prompt("fw.warning.md", message=message), id=id)

    @extension.extensible
    def hist_add_tool_result(self, tool_name: str, tool_result: str, **kwargs: Any) -> history.Message:
        message_id, item = kwargs.pop("id", ""), kwargs.pop("_responses_output_item", None)
        responses = {"input_items": [item], "output_items": [], "mode": "responses", "state": "provider"}
        data = {"tool_name": tool_name, "tool_result": tool_result, **kwargs}
        extension.call_extensions_sync("hist_add_tool_result", self, data=data)
        metadata = {RESPONSE_METADATA_KEY: responses} if item else None
        return self.hist_add_message(False, content=data, id=message_id, metadata=metadata)

    @extension.extensible
    def get_chat_model(self) -> models.LiteLLMChatWrapper:
        return models.get_chat_model("chat")

    @extension.extensible
    def get_utility_model(self) -> models.LiteLLMChatWrapper:
        return models.get_chat_model("utility")

    @extension.extensible
    async def call_utility_model(
        self,
        system: str,
        message: str,
        callback: Callable[[str], Awaitable[None]] | None = None,
        background: bool = False,
    ) -> str:
        call_data = {
            "model": self.get_utility_model(),
            "system": system,
            "message": message,
            "callback": callback,
            "background": background,
        }
        await self._point("util_model_call_before", call_data=call_data)

        async def on_chunk(chunk: str, total: str) -> None:
            await call_data["callback"](chunk)

        response, _ = await call_data["model"].unified_call(
            system_message=call_data["system"],
            user_message=call_data["message"],
            response_callback=on_chunk if call_data["callback"] else None,
            rate_limiter_callback=None if call_data["background"] else self.rate_limiter_callback,
        )
        await self._point("util_model_call_after", call_data=call_data, response=response)
        return response

    @extension.extensible
    async def call_chat_model_turn(
        self,
        messages: list[models.PromptMessage],
        response_callback: Callable[[str, str], Awaitable[str | None]] | None = None,
        reasoning_callback: Callable[[str, str], Awaitable[None]] | None = None,
        background: bool = False,
        explicit_caching: bool = True,
    ) -> LLMResult:
        self.set_data(Agent.DATA_NAME_RESPONSES_TOOL_NAME_MAP, {})
        call_data: dict[str, Any] = {
            "model": self.get_chat_model(),
            "messages": messages,
            "response_callback": response_callback,
            "reasoning_callback": reasoning_callback,
            "background": background,
            "explicit_caching": explicit_caching,
            "a0_responses_function_tools": [],
        }
        await self._point("chat_model_call_before", call_data=call_data)
        result = await call_data["model"].unified_turn(
            messages=call_data["messages"],
            reasoning_callback=call_data["reasoning_callback"],
            response_callback=call_data["response_callback"],
            rate_limiter_callback=None if call_data["background"] else self.rate_limiter_callback,
            explicit_caching=call_data["explicit_caching"],
            a0_responses_function_tools=call_data["a0_responses_function_tools"],
        )
        await self._point("chat_model_call_after", call_data=call_data, response=result.response, reasoning=result.reasoning)
        return result

    @extension.extensible
    async def rate_limiter_callback(self, message: str, key: str, total: int, limit: int) -> bool:
        self.context.log.set_progress(message)
        return False

    @extension.extensible
    async def handle_intervention(self, progress: str = "") -> None:
        """The place where a person's message gets in: everything after it in this step is skipped."""
        await self.wait_if_paused()
        if not self.intervention:
            return
        message, self.intervention = self.intervention, None
        tool = self.loop_data.current_tool
        if tool and tool.progress.strip():
            self.hist_add_tool_result(tool.name, tool.progress.strip())
            await tool.set_progress(None)
        if progress.strip():
            self.hist_add_ai_response(progress)
        self.hist_add_user_message(message, intervention=True)
        raise InterventionException(message)

    async def wait_if_paused(self) -> None:
        while self.context.paused:
            await asyncio.sleep(0.1)

    async def process_llm_result_tools(self, llm_result: LLMResult) -> str | None:
        for call in llm_result.function_calls:
            answer = await self._execute_tool_request(
                tool_name=(self.get_data(Agent.DATA_NAME_RESPONSES_TOOL_NAME_MAP) or {}).get(call.name, call.name),
                tool_args=call.arguments,
                message=llm_result.response,
                responses_item_factory=lambda made, call=call: function_call_output_item(call.call_id, made.message),
            )
            if answer:
                return answer
        if llm_result.function_calls:
            return None
        text = llm_result.response
        if extract_tools.extract_tool_request(text) is None and not extract_tools.is_misformatted_tool_request(text):
            return text
        return await self.process_tools(text)

    async def _execute_tool_request(
        self,
        tool_name: str,
        tool_args: dict[str, Any],
        message: str,
        raw_tool_name: str = "",
        responses_item_factory: Callable[[Any], dict[str, Any]] | None = None,
    ) -> str | None:
        tool = self.get_tool(name=tool_name, method=None, args=tool_args, message=message, loop_data=self.loop_data)
        self.loop_data.current_tool = tool
        try:
            await self.handle_intervention()
            await tool.before_execution(**tool_args)
            await self.handle_intervention()
            await self._point("tool_execute_before", tool_args=tool_args or {}, tool_name=tool_name)
            response = await tool.execute(**tool_args)
            await self.handle_intervention()
            await self._point("tool_execute_after", response=response, tool_name=tool_name)
            if responses_item_factory:
                item = responses_item_factory(response)
                response.additional = {**(response.additional or {}), "_responses_output_item": item}
            await tool.after_execution(response)
            await self.handle_intervention()
            return response.message if response.break_loop else None
        finally:
            self.loop_data.current_tool = None

    @extension.extensible
    async def process_tools(self, msg: str) -> str | None:
        request = extract_tools.extract_tool_request(msg)
        if request is None:
            self._warn(self.read_prompt("fw.msg_misformat.md"))
            return None
        await self.validate_tool_request(request)
        name, args = extract_tools.normalize_tool_request(request)
        return await self._execute_tool_request(tool_name=name, tool_args=args, message=msg)

    @extension.extensible
    async def validate_tool_request(self, tool_request: Any) -> None:
        extract_tools.normalize_tool_request(tool_request)

    @extension.extensible
    def get_tool(
        self,
        name: str,
        method: str | None,
        args: dict[str, Any],
        message: str,
        loop_data: LoopData | None,
        **kwargs: Any,
    ) -> Any:
        """A new instance of a class that is loaded anew; the first place that has the file wins."""
        from helpers.tool import Tool
        from tools.unknown import Unknown

        for path in subagents.get_paths(self, "tools", f"{name}.py"):
            try:
                found = extract_tools.load_classes_from_file(path, Tool)
            except Exception:
                continue
            if found:
                return found[0](self, name, method, args, message, loop_data, **kwargs)
        return Unknown(self, name, method, args, message, loop_data, **kwargs)

    def _warn(self, text: str) -> None:
        message = self.hist_add_warning(message=text)
        self.context.log.log(type="warning", content=text, id=message.id)

    async def _point(self, extension_point: str, **kwargs: Any) -> None:
        await extension.call_extensions_async(extension_point, self, **kwargs)

    async def _point_if_alive(self, extension_point: str) -> None:
        """A turn that is not its chat's own task passes these points in silence."""
        if self.context.is_running():
            await self._point(extension_point, loop_data=self.loop_data)
