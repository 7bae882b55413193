"""Listens to streams of OpenAI and Anthropic: hands events on unchanged, and puts the answer together meanwhile."""

from __future__ import annotations

import logging
from typing import Any, Callable, Dict, List, Optional

from .conversation import Call, Message
from .messages import openai_output, plain

log = logging.getLogger("evenhand")

Record = Callable[[Message], None]


class OpenAIChat:
    """Chunks of a chat completion."""

    def __init__(self) -> None:
        self.text: List[str] = []
        self.calls: Dict[int, Call] = {}

    def add(self, chunk: Any) -> None:
        for choice in (plain(chunk).get("choices") or [])[:1]:
            delta = choice.get("delta") or {}
            self.text.append(delta.get("content") or delta.get("refusal") or "")
            for part in delta.get("tool_calls") or []:
                call = self.calls.setdefault(part.get("index", 0), Call("", "", ""))
                function = part.get("function") or {}
                call.id = part.get("id") or call.id
                call.name += function.get("name") or ""
                call.arguments += function.get("arguments") or ""

    def message(self) -> Message:
        return Message("assistant", "".join(self.text), [self.calls[index] for index in sorted(self.calls)])


class OpenAIResponse:
    """Events of a response: the last one has it whole; until then, words and finished items."""

    def __init__(self) -> None:
        self.text: List[str] = []
        self.items: List[Any] = []
        self.whole: Optional[Message] = None

    def add(self, event: Any) -> None:
        kind = getattr(event, "type", "")
        if kind == "response.output_text.delta":
            self.text.append(event.delta)
        elif kind == "response.output_item.done":
            self.items.append(event.item)
        elif kind in ("response.completed", "response.incomplete"):
            self.whole = openai_output(event.response.output)

    def message(self) -> Message:
        if self.whole is not None:
            return self.whole
        made = openai_output(self.items)
        made.text = made.text or "".join(self.text)
        return made


class AnthropicMessages:
    """Events of a message."""

    def __init__(self) -> None:
        self.text: Dict[int, str] = {}
        self.calls: Dict[int, Call] = {}

    def add(self, event: Any) -> None:
        event = plain(event)
        kind, index = event.get("type"), event.get("index", 0)
        if kind == "content_block_start":
            block = event.get("content_block") or {}
            if block.get("type") == "tool_use":
                self.calls[index] = Call(str(block.get("id")), str(block.get("name")), "")
            elif block.get("type") == "text":
                self.text[index] = block.get("text") or ""
        elif kind == "content_block_delta":
            delta = event.get("delta") or {}
            if delta.get("type") == "text_delta":
                self.text[index] = self.text.get(index, "") + delta.get("text", "")
            elif delta.get("type") == "input_json_delta" and index in self.calls:
                self.calls[index].arguments += delta.get("partial_json", "")

    def message(self) -> Message:
        words = "\n".join(self.text[index] for index in sorted(self.text) if self.text[index])
        return Message("assistant", words, [self.calls[index] for index in sorted(self.calls)])


class Listener:
    """Adds events to an answer, and records it once: at the end, or when the stream is closed before it."""

    def __init__(self, parts: Any, record: Record) -> None:
        self.parts, self.record = parts, record
        self.done = False

    def add(self, event: Any) -> None:
        try:
            self.parts.add(event)
        except Exception:
            log.exception("an event of a stream was not understood")

    def end(self) -> None:
        if not self.done:
            self.done = True
            try:
                self.record(self.parts.message())
            except Exception:
                log.exception("an answer could not be recorded")


class Heard:
    """A stream that is listened to. It passes for the stream itself, also with isinstance."""

    def __init__(self, stream: Any, listener: Listener) -> None:
        self.__dict__.update(_stream=stream, _listener=listener, _events=None)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._stream, name, value)


class HeardStream(Heard):
    def __iter__(self) -> Any:
        try:
            for event in self._stream:
                self._listener.add(event)
                yield event
        finally:
            self._listener.end()

    def __next__(self) -> Any:
        if self._events is None:
            self.__dict__["_events"] = iter(self)
        return next(self._events)

    def __enter__(self) -> Any:
        self._stream.__enter__()
        return self

    def __exit__(self, *exception: Any) -> Any:
        self._listener.end()
        return self._stream.__exit__(*exception)

    def close(self) -> None:
        self._listener.end()
        self._stream.close()


class HeardAsyncStream(Heard):
    async def __aiter__(self) -> Any:
        try:
            async for event in self._stream:
                self._listener.add(event)
                yield event
        finally:
            self._listener.end()

    async def __anext__(self) -> Any:
        if self._events is None:
            self.__dict__["_events"] = self.__aiter__()
        return await self._events.__anext__()

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> Any:
        self._listener.end()
        return await self._stream.__aexit__(*exception)

    async def close(self) -> None:
        self._listener.end()
        await self._stream.close()


class HeardManager(Heard):
    """The answer of `messages.stream()` of Anthropic: a block whose stream knows its message so far."""

    def _finish(self, stream: Any) -> None:
        try:
            snapshot = stream.current_message_snapshot
        except Exception:  # Nothing has come yet.
            return
        self._listener.record(self._listener.parts(plain(snapshot)))

    def __enter__(self) -> Any:
        self.__dict__["_events"] = self._stream.__enter__()
        return self._events

    def __exit__(self, *exception: Any) -> Any:
        self._quietly()
        return self._stream.__exit__(*exception)

    async def __aenter__(self) -> Any:
        self.__dict__["_events"] = await self._stream.__aenter__()
        return self._events

    async def __aexit__(self, *exception: Any) -> Any:
        self._quietly()
        return await self._stream.__aexit__(*exception)

    def _quietly(self) -> None:
        try:
            self._finish(self._events)
        except Exception:
            log.exception("an answer could not be recorded")
