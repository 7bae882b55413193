"""A callback handler for LangChain and LangGraph: `graph.invoke(…, config={"callbacks": [EvenhandCallbackHandler()]})`.

The user and the session are the handler's own, or `user_id` and `session_id` (or LangGraph's `thread_id`) in the
call's metadata, or those of the current `with evenhand.session(…)` block. Without any, nothing is recorded.
"""

from __future__ import annotations

import logging
from typing import Any, Dict, List, Optional, Union
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from .client import AsyncClient, Client
from .conversation import Call, Message, Result
from .known_sessions import KnownSessions
from .messages import role_of, text_of
from .session import BaseSession

log = logging.getLogger("evenhand")


def read(message: Any) -> Message:
    """One of LangChain's messages."""
    role = role_of(getattr(message, "type", "human").replace("MessageChunk", "").lower())
    made = Message(role, text_of(message.content))
    if role == "tool":
        failed = getattr(message, "status", "success") == "error"
        return Message("tool", results=[Result(str(message.tool_call_id), made.text, failed)])
    for call in getattr(message, "tool_calls", None) or []:
        made.calls.append(Call(str(call.get("id")), str(call.get("name")), call.get("args")))
    return made


class EvenhandCallbackHandler(BaseCallbackHandler):
    # Recording neither waits nor raises, and its order matters.
    run_inline = True

    def __init__(
        self,
        user: Optional[str] = None,
        session: Optional[str] = None,
        *,
        client: Optional[Union[Client, AsyncClient]] = None,
        **more: Any,
    ) -> None:
        self._sessions = KnownSessions(client, user, session, more)
        # Calls of models that have not ended, and the outermost chains, each with its session.
        self._calls: Dict[UUID, BaseSession] = {}
        self._chains: Dict[UUID, BaseSession] = {}

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: Optional[UUID] = None,
        metadata: Optional[Dict[str, Any]] = None,
        **_: Any,
    ) -> None:
        if parent_run_id is None:
            session = self._find(metadata)
            if session is not None:
                self._chains[run_id] = session

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        session = self._chains.pop(run_id, None)
        if session is not None:
            session.conversation.settle()

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self.on_chain_end(None, run_id=run_id)

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: List[List[Any]],
        *,
        run_id: UUID,
        metadata: Optional[Dict[str, Any]] = None,
        **_: Any,
    ) -> None:
        self._begin(run_id, metadata, lambda: [read(one) for one in messages[0]])

    def on_llm_start(
        self,
        serialized: Any,
        prompts: List[str],
        *,
        run_id: UUID,
        metadata: Optional[Dict[str, Any]] = None,
        **_: Any,
    ) -> None:
        self._begin(run_id, metadata, lambda: [Message("user", prompts[0])])

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        session = self._calls.pop(run_id, None)
        if session is None:
            return
        try:
            generation = response.generations[0][0]
            message = getattr(generation, "message", None)
            session.conversation.response(read(message) if message else Message("assistant", generation.text))
        except Exception:
            log.exception("an answer could not be recorded")

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._calls.pop(run_id, None)

    def _find(self, metadata: Optional[Dict[str, Any]]) -> Optional[BaseSession]:
        try:
            return self._sessions.find(metadata)
        except Exception:
            log.exception("a session could not be found")
            return None

    def _begin(self, run_id: UUID, metadata: Optional[Dict[str, Any]], messages: Any) -> None:
        session = self._find(metadata)
        if session is None:
            return
        try:
            session.conversation.request(messages())
            self._calls[run_id] = session
        except Exception:
            log.exception("a call could not be recorded")
