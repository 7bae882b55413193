"""`wrap(client)`: a copy of an OpenAI or Anthropic client whose calls are recorded."""

from __future__ import annotations

import functools
import inspect
import logging
from typing import Any, Callable, Dict, List, Optional, Tuple, TypeVar

from . import messages, streams
from .conversation import Message
from .session import BaseSession, current_session

log = logging.getLogger("evenhand")

C = TypeVar("C")
Finder = Callable[[], Optional[BaseSession]]


class Reader:
    """How the calls of one method are read."""

    def __init__(
        self,
        request: Callable[[Any], List[Message]],
        argument: str,
        response: Callable[[Any], Message],
        stream: Callable[[], Any],
    ) -> None:
        self.request, self.argument, self.response, self.stream = request, argument, response, stream


CHAT = Reader(
    messages.openai_chat,
    "messages",
    lambda answer: messages.openai_message(messages.plain(answer.choices[0].message)),
    streams.OpenAIChat,
)
RESPONSES = Reader(
    messages.openai_input, "input", lambda answer: messages.openai_output(answer.output), streams.OpenAIResponse
)
ANTHROPIC = Reader(
    messages.anthropic_chat,
    "messages",
    lambda answer: messages.anthropic_message(messages.plain(answer)),
    streams.AnthropicMessages,
)

# The places in the clients: attributes, the methods of the last one, and how they are read.
PLACES: Dict[str, List[Tuple[Tuple[str, ...], Tuple[str, ...], Reader]]] = {
    "openai": [(("chat", "completions"), ("create", "parse"), CHAT), (("responses",), ("create", "parse"), RESPONSES)],
    "anthropic": [(("messages",), ("create", "parse", "stream"), ANTHROPIC)],
}


def wrap(client: C, find: Finder = current_session) -> C:
    """A copy of the client that records its calls into the session that `find` gives; without one, nothing."""
    # A client that somebody derived from theirs has its base in their package.
    packages = [base.__module__.split(".")[0] for base in inspect.getmro(type(client))]
    family = next((package for package in packages if package in PLACES), None)
    if family is None:
        raise TypeError(f"wrap() takes clients of the packages openai and anthropic, not {type(client).__name__}")
    copy: Any = client.with_options()  # type: ignore[attr-defined]
    for path, methods, reader in PLACES[family]:
        holder = functools.reduce(lambda found, name: getattr(found, name, None), path, copy)
        for name in methods:
            method = getattr(holder, name, None)
            if method is not None:
                setattr(
                    holder, name, managed(method, reader, find) if name == "stream" else recorded(method, reader, find)
                )
    made: C = copy
    return made


def begin(reader: Reader, find: Finder, given: Any) -> Optional[BaseSession]:
    try:
        session = find()
        if session is not None:
            # Histories may be iterators, which the call itself needs: those are left alone.
            session.conversation.request(reader.request(given if isinstance(given, (str, list, tuple)) else None))
        return session
    except Exception:
        log.exception("a call could not be recorded")
        return None


def finish(reader: Reader, session: Optional[BaseSession], answer: Any) -> Any:
    """Records the answer, or listens to it when it is a stream. Raw responses are handed on as they are."""
    if session is None:
        return answer
    try:
        if hasattr(answer, "__aiter__"):
            return streams.HeardAsyncStream(answer, streams.Listener(reader.stream(), session.conversation.response))
        if hasattr(answer, "__stream__") or hasattr(answer, "__next__"):
            return streams.HeardStream(answer, streams.Listener(reader.stream(), session.conversation.response))
        if hasattr(answer, "model_dump"):
            session.conversation.response(reader.response(answer))
    except Exception:
        log.exception("an answer could not be recorded")
    return answer


def recorded(method: Any, reader: Reader, find: Finder) -> Any:
    if inspect.iscoroutinefunction(inspect.unwrap(method)):

        @functools.wraps(method)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            session = begin(reader, find, kwargs.get(reader.argument))
            return finish(reader, session, await method(*args, **kwargs))

        return awaited

    @functools.wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        session = begin(reader, find, kwargs.get(reader.argument))
        return finish(reader, session, method(*args, **kwargs))

    return called


def managed(method: Any, reader: Reader, find: Finder) -> Any:
    @functools.wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        session = begin(reader, find, kwargs.get(reader.argument))
        manager = method(*args, **kwargs)
        if session is None:
            return manager
        return streams.HeardManager(
            manager, streams.Listener(messages.anthropic_message, session.conversation.response)
        )

    return called
