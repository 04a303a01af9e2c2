"""What the model has seen: bulks of old topics, topics, the current topic. Summaries replace what they sum up."""

from __future__ import annotations

import json
import uuid
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from helpers import settings, tokens

if TYPE_CHECKING:
    from agent import Agent

TOPICS_MERGE_COUNT = 3

MessageContent = Any
OutputMessage = dict[str, Any]


class Record(ABC):
    summary: str

    @abstractmethod
    def output(self) -> list[OutputMessage]: ...

    @abstractmethod
    def to_dict(self) -> dict[str, Any]: ...

    def output_text(self, human_label: str = "user", ai_label: str = "ai") -> str:
        return output_text(self.output(), ai_label, human_label)

    def get_tokens(self) -> int:
        return tokens.approximate_tokens(self.output_text())

    @staticmethod
    def from_dict(data: dict[str, Any], history: History) -> Record:
        return {"Message": Message, "Topic": Topic, "Bulk": Bulk}[data["_cls"]].from_dict(data, history=history)


class Message(Record):
    def __init__(
        self,
        ai: bool,
        content: MessageContent,
        tokens: int = 0,
        id: str = "",
        metadata: dict[str, Any] | None = None,
        sequence: int = 0,
    ) -> None:
        self.id = id or str(uuid.uuid4())
        self.ai = ai
        self.content = content
        self.metadata = metadata or {}
        self.sequence = sequence
        self.summary = ""
        self.tokens: int = tokens or self.calculate_tokens()

    def get_tokens(self) -> int:
        return self.tokens

    def calculate_tokens(self) -> int:
        return tokens.approximate_tokens(self.output_text())

    def set_summary(self, summary: str) -> None:
        self.summary = summary
        self.tokens = self.calculate_tokens()

    def output(self) -> list[OutputMessage]:
        content = self.summary or self.content
        return [{"ai": self.ai, "content": content, "metadata": self.metadata, "id": self.id, "sequence": self.sequence}]

    def to_dict(self) -> dict[str, Any]:
        return {
            "_cls": "Message",
            "id": self.id,
            "ai": self.ai,
            "content": self.content,
            "metadata": self.metadata,
            "sequence": self.sequence,
            "summary": self.summary,
            "tokens": self.tokens,
        }

    @staticmethod
    def from_dict(data: dict[str, Any], history: History) -> Message:
        message = Message(
            ai=data["ai"],
            content=data.get("content", "Content lost"),
            id=data.get("id", ""),
            metadata=data.get("metadata") or {},
            sequence=int(data.get("sequence", 0) or 0),
        )
        message.summary = data.get("summary", "")
        message.tokens = data.get("tokens", 0)
        return message


class Topic(Record):
    def __init__(self, history: History) -> None:
        self.history = history
        self.summary = ""
        self.messages: list[Message] = []

    def add_message(self, ai: bool, content: MessageContent, **fields: Any) -> Message:
        message = Message(ai=ai, content=content, **fields)
        self.messages.append(message)
        return message

    def output(self) -> list[OutputMessage]:
        if self.summary:
            return [{"ai": False, "content": self.summary}]
        return [out for message in self.messages for out in message.output()]

    def to_dict(self) -> dict[str, Any]:
        return {"_cls": "Topic", "summary": self.summary, "messages": [message.to_dict() for message in self.messages]}

    @staticmethod
    def from_dict(data: dict[str, Any], history: History) -> Topic:
        topic = Topic(history=history)
        topic.summary = data.get("summary", "")
        topic.messages = [Message.from_dict(item, history=history) for item in data.get("messages", [])]
        return topic


class Bulk(Record):
    def __init__(self, history: History) -> None:
        self.history = history
        self.summary = ""
        self.records: list[Record] = []

    def output(self) -> list[OutputMessage]:
        if self.summary:
            return [{"ai": False, "content": self.summary}]
        return [out for record in self.records for out in record.output()]

    async def summarize(self) -> str:
        agent = self.history.agent
        self.summary = await agent.call_utility_model(system=agent.read_prompt("fw.topic_summary.sys.md"), message=self.output_text())
        return self.summary

    def to_dict(self) -> dict[str, Any]:
        return {"_cls": "Bulk", "summary": self.summary, "records": [record.to_dict() for record in self.records]}

    @staticmethod
    def from_dict(data: dict[str, Any], history: History) -> Bulk:
        bulk = Bulk(history=history)
        bulk.summary = data["summary"]
        bulk.records = [Record.from_dict(item, history=history) for item in data["records"]]
        return bulk


class History(Record):
    def __init__(self, agent: Agent) -> None:
        self.counter = 0
        self.bulks: list[Bulk] = []
        self.topics: list[Topic] = []
        self.current = Topic(history=self)
        self.agent = agent

    def add_message(self, ai: bool, content: MessageContent, **fields: Any) -> Message:
        self.counter += 1
        return self.current.add_message(ai, content, sequence=self.counter, **fields)

    def new_topic(self) -> None:
        if self.current.messages:
            self.topics.append(self.current)
            self.current = Topic(history=self)

    def output(self) -> list[OutputMessage]:
        return [out for record in (*self.bulks, *self.topics, self.current) for out in record.output()]

    def all_messages(self) -> list[Message]:
        return [message for record in (*self.bulks, *self.topics, self.current) for message in _messages_of(record)]

    def messages_since(self, sequence: int) -> list[Message]:
        return [message for message in self.all_messages() if message.sequence > sequence]

    def is_over_limit(self) -> bool:
        return self.get_tokens() > settings.get_settings()["history_tokens"]

    async def compress(self) -> bool:
        """Moves the oldest topics into a summed-up bulk until the rest fits."""
        compressed = False
        while self.is_over_limit() and self.topics:
            bulk = Bulk(history=self)
            bulk.records.extend(self.topics[:TOPICS_MERGE_COUNT])
            await bulk.summarize()
            self.bulks.append(bulk)
            del self.topics[: len(bulk.records)]
            compressed = True
        return compressed

    def to_dict(self) -> dict[str, Any]:
        return {
            "_cls": "History",
            "counter": self.counter,
            "bulks": [bulk.to_dict() for bulk in self.bulks],
            "topics": [topic.to_dict() for topic in self.topics],
            "current": self.current.to_dict(),
        }

    def serialize(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @staticmethod
    def from_dict(data: dict[str, Any], history: History) -> History:
        history.counter = data.get("counter", 0)
        history.bulks = [Bulk.from_dict(item, history=history) for item in data["bulks"]]
        history.topics = [Topic.from_dict(item, history=history) for item in data["topics"]]
        history.current = Topic.from_dict(data["current"], history=history)
        return history


def deserialize_history(json_data: str, agent: Agent) -> History:
    history = History(agent=agent)
    return History.from_dict(json.loads(json_data), history=history) if json_data else history


def clear_responses_provider_state(agent: Agent) -> None:
    """The provider's own memory of the talk no longer fits: the whole prompt is sent next time."""
    state = agent.get_data(agent.DATA_NAME_RESPONSES_STATE)
    if isinstance(state, dict):
        kept = {key: value for key, value in state.items() if key not in ("response_id", "previous_response_id")}
        agent.set_data(agent.DATA_NAME_RESPONSES_STATE, kept)


def output_text(messages: list[OutputMessage], ai_label: str = "ai", human_label: str = "human") -> str:
    return "\n".join(f"{ai_label if out['ai'] else human_label}: {text_of(out['content'])}" for out in messages)


def text_of(content: MessageContent) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _messages_of(record: Record) -> list[Message]:
    if isinstance(record, Topic):
        return list(record.messages)
    if isinstance(record, Bulk):
        return [message for inner in record.records for message in _messages_of(inner)]
    return [record] if isinstance(record, Message) else []
