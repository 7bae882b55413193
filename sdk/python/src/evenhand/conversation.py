"""Turns calls of a model into turns of a session.

Every call of a chat model carries the whole history, so most of it was recorded before. New is what follows the last
message of the assistant: the user's words, or results of tools. A call of tools becomes a turn once their results are
known, which the next call brings.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Deque, Dict, List, Optional, Tuple

from . import clean

if TYPE_CHECKING:
    from .session import BaseSession


@dataclass
class Call:
    """A tool that the model wants to be called."""

    id: str
    name: str
    arguments: Any = None


@dataclass
class Result:
    """The result of such a call."""

    id: str
    value: Any = None
    failed: bool = False


@dataclass
class Message:
    """A message in no provider's own form. Roles: system, user, assistant, tool."""

    role: str
    text: str = ""
    calls: List[Call] = field(default_factory=list)
    results: List[Result] = field(default_factory=list)


class Conversation:
    def __init__(self, session: BaseSession) -> None:
        self._session = session
        self._guard = threading.Lock()
        # The answer whose tools have not come back yet, with its time.
        self._pending: Optional[Tuple[Message, float]] = None
        self._results: Dict[str, Result] = {}
        self._seen: Deque[str] = Deque(maxlen=64)

    def request(self, messages: List[Message], at: Optional[float] = None) -> None:
        """The messages of a call, made now or at a given time."""
        with self._guard:
            spoken = [message for message in messages if message.role != "system"]
            mark = digest(spoken)
            # The same history again: a second attempt, or another question about the same words.
            if mark in self._seen:
                return
            self._seen.append(mark)
            last = max((index for index, message in enumerate(spoken) if message.role == "assistant"), default=-1)
            fresh = spoken[last + 1 :]
            for message in fresh:
                for result in message.results:
                    self._results[result.id] = result
            self._settle()
            for message in fresh:
                if message.role == "user" and message.text:
                    self._session.user(message.text, at=at)

    def response(self, message: Message, at: Optional[float] = None) -> None:
        """The model's answer, given now or at a given time."""
        with self._guard:
            self._settle()
            if message.calls:
                self._pending = (message, time.time() if at is None else at)
            elif message.text:
                self._session.assistant(message.text, at=at)

    def settle(self) -> None:
        """Records calls of tools whose results nobody waits for any more."""
        with self._guard:
            self._settle()

    def _settle(self) -> None:
        if self._pending is None:
            return
        (message, at), self._pending = self._pending, None
        tools = []
        for call in message.calls:
            result = self._results.get(call.id)
            data: Dict[str, Any] = {}
            if call.arguments not in (None, "", {}):
                data["arguments"] = arguments(call.arguments)
            if result is not None:
                data["result"] = clean.json_value(result.value)
            tool: Dict[str, Any] = {"tool_name": call.name or "unknown", "tool_data": data}
            if result is not None:
                tool["status"] = "error" if result.failed else "success"
            tools.append(tool)
        self._results.clear()
        self._session.turn("Assistant", message.text, tools=tools, at=at)


def arguments(value: Any) -> Any:
    """Arguments come as JSON text from some providers."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return clean.json_value(value)


def digest(messages: List[Message]) -> str:
    made = hashlib.sha256()
    for message in messages:
        parts = [message.role, message.text, *(call.id for call in message.calls)]
        parts += [f"{result.id} {result.value}" for result in message.results]
        made.update(json.dumps(parts).encode())
    return made.hexdigest()
