"""A logger for LiteLLM: `litellm.callbacks = [EvenhandLogger()]`.

The user and the session are the logger's own, or `user_id` and `session_id` in the call's `metadata`, or those of the
current `with evenhand.session(…)` block. Without any, nothing is recorded.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Deque, Dict, List, Mapping, Optional, Union

from litellm.integrations.custom_logger import CustomLogger

from .client import AsyncClient, Client
from .conversation import Message
from .known_sessions import KnownSessions
from .messages import openai_chat, openai_message, plain
from .session import BaseSession

log = logging.getLogger("evenhand")

# A call without an end, as of a stream that nobody reads, holds later ones back that long.
PATIENCE = 60.0


@dataclass
class Pending:
    """A call on its way. LiteLLM reports ends from several threads; they are recorded in the order of beginnings."""

    session: BaseSession
    messages: List[Message]
    began: float
    ended: bool = False
    answer: Optional[Message] = None
    at: float = field(default_factory=time.time)


class EvenhandLogger(CustomLogger):
    def __init__(
        self,
        user: Optional[str] = None,
        session: Optional[str] = None,
        *,
        client: Optional[Union[Client, AsyncClient]] = None,
        **more: Any,
    ) -> None:
        super().__init__()
        self._sessions = KnownSessions(client, user, session, more)
        self._guard = threading.Lock()
        self._calls: Dict[str, Pending] = {}
        self._order: Dict[int, Deque[str]] = {}

    def log_pre_api_call(self, model: Any, messages: Any, kwargs: Mapping[str, Any]) -> None:
        try:
            call = str(kwargs.get("litellm_call_id"))
            session = self._sessions.find(metadata(kwargs))
            if session is None:
                return
            with self._guard:
                # A second attempt at the same call.
                if call not in self._calls:
                    given = messages if isinstance(messages, list) else []
                    self._calls[call] = Pending(session, openai_chat(given), time.time())
                    self._order.setdefault(id(session), deque()).append(call)
        except Exception:
            log.exception("a call could not be recorded")

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self._end(kwargs, response_obj)

    def log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self._end(kwargs, None)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self._end(kwargs, response_obj)

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        self._end(kwargs, None)

    def _end(self, kwargs: Mapping[str, Any], answer: Any) -> None:
        try:
            with self._guard:
                pending = self._calls.get(str(kwargs.get("litellm_call_id")))
                if pending is None or pending.ended:
                    return
                pending.ended, pending.at = True, time.time()
                choices = getattr(answer, "choices", None)
                if choices:
                    pending.answer = openai_message(plain(choices[0].message))
                self._drain(pending.session)
        except Exception:
            log.exception("an answer could not be recorded")

    def _drain(self, session: BaseSession) -> None:
        order = self._order.get(id(session), deque())
        while order:
            pending = self._calls[order[0]]
            if not pending.ended and time.time() - pending.began < PATIENCE:
                return
            del self._calls[order.popleft()]
            session.conversation.request(pending.messages, at=pending.began)
            if pending.answer is not None:
                session.conversation.response(pending.answer, at=pending.at)
        self._order.pop(id(session), None)


def metadata(kwargs: Mapping[str, Any]) -> Dict[str, Any]:
    """Metadata that the caller sent along, in all places LiteLLM keeps it."""
    inner = kwargs.get("litellm_params") or {}
    found: Dict[str, Any] = {}
    for place in (inner.get("litellm_metadata"), kwargs.get("metadata"), inner.get("metadata")):
        found.update(place or {})
    return found
