"""A session: what a user and an agent said, in order."""

from __future__ import annotations

import contextvars
import logging
import time
import uuid
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Union

from . import clean
from .conversation import Conversation
from .found import Found

if TYPE_CHECKING:
    from .client import AsyncClient, Client, Recorder

log = logging.getLogger("evenhand")

Tool = Union[str, Mapping[str, Any]]

_current: contextvars.ContextVar[Optional[BaseSession]] = contextvars.ContextVar("evenhand_session", default=None)


def current_session() -> Optional[BaseSession]:
    """The session whose `with` block is being run."""
    return _current.get()


class BaseSession:
    """Records turns. The calls write to the spool and return; they neither wait for the server nor raise."""

    def __init__(
        self,
        client: Recorder,
        user: str,
        session: Optional[str] = None,
        *,
        source: Optional[str] = None,
        agent_version: Optional[str] = None,
        evaluation_only: bool = False,
        finish: bool = True,
    ) -> None:
        self._client = client
        self.user_id = str(user).strip()
        self.session_id = str(session).strip() if session is not None else uuid.uuid4().hex
        self._key = (self.user_id, self.session_id)
        self._finish = finish
        self._fields: Dict[str, Any] = {"user_id": self.user_id, "session_id": self.session_id}
        if source or client.settings.source:
            self._fields["source"] = source or client.settings.source
        if agent_version or client.settings.agent_version:
            self._fields["agent_version"] = agent_version or client.settings.agent_version
        if evaluation_only:
            self._fields["evaluation_only"] = True
        self._references: List[Dict[str, Any]] = []
        self._tokens: List[contextvars.Token[Optional[BaseSession]]] = []
        self.conversation = Conversation(self)
        client.sessions.add(self)

    def turn(
        self,
        role: str,
        content: str = "",
        *,
        tools: Optional[Iterable[Tool]] = None,
        shadow: Optional[str] = None,
        expert: Optional[str] = None,
        learnings: Optional[Iterable[Mapping[str, Any]]] = None,
        citations: Optional[Iterable[Mapping[str, Any]]] = None,
        at: Optional[float] = None,
        **more: Any,
    ) -> None:
        """One turn of any role. `at` is unix seconds, now when absent; `more` are further fields of InteractionData."""
        try:
            made: Dict[str, Any] = {"role": clean.text(role)[:1000], "content": clean.text(content or "")}
            made["created_at"] = time.time() if at is None else at
            if tools:
                made["tools_used"] = [clean.tool(tool) for tool in tools]
            if shadow is not None:
                made["shadow_content"] = clean.text(shadow)
            if expert is not None:
                made["expert_content"] = clean.text(expert)
            if learnings:
                made["retrieved_learnings"] = clean.json_value(list(learnings))
            if citations:
                made["citations"] = clean.json_value(list(citations))
            made.update({name: clean.json_value(value) for name, value in more.items() if value is not None})
            if not self.user_id or not self.session_id:
                raise ValueError("a session needs a user and an id")
            self._client.delivery.record(self._key, self._fields, made)
        except Exception:
            if self._client.settings.strict:
                raise
            log.exception("a turn could not be recorded")

    def user(self, content: str, **more: Any) -> None:
        """A turn of the user."""
        self.turn("User", content, **more)

    def assistant(self, content: str = "", **more: Any) -> None:
        """A turn of the agent, with the tools it used and what a search of this session found before."""
        references, self._references = self._references, []
        if references and "learnings" not in more:
            more["learnings"] = references
        self.turn("Assistant", content, **more)

    def outcome(
        self,
        outcome: str,
        *,
        label: Optional[str] = None,
        value: Optional[float] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        at: Optional[float] = None,
    ) -> None:
        """How the session really ended: success, failure or unknown."""
        self._client.outcome(
            self.session_id, outcome, user=self.user_id, label=label, value=value, metadata=metadata, at=at
        )

    def finish(self) -> None:
        """Nothing more is coming: the server may judge the session now."""
        try:
            self.conversation.settle()
            self._client.delivery.finish(self._key, self._fields)
        except Exception:
            if self._client.settings.strict:
                raise
            log.exception("the end of a session could not be recorded")

    def _searched(self, found: Found) -> Found:
        seen = {(one["kind"], one["learning_id"]) for one in self._references}
        fresh = [one for one in found.references() if (one["kind"], one["learning_id"]) not in seen]
        self._references = (self._references + fresh)[:1000]
        return found

    def _enter(self) -> None:
        self._tokens.append(_current.set(self))

    def _leave(self) -> None:
        try:
            _current.reset(self._tokens.pop())
        except (IndexError, ValueError):  # Left in another task than it was entered in.
            _current.set(None)
        if self._finish:
            self.finish()
        else:
            self.conversation.settle()


class Session(BaseSession):
    _client: Client

    def search(self, query: str, **more: Any) -> Found:
        """Learnings for a question of this user. The next assistant turn says that it was made with them."""
        more = {"user": self.user_id, "session": self.session_id, **more}
        return self._searched(self._client.search(query, **more))

    def __enter__(self) -> Session:
        self._enter()
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()


class AsyncSession(BaseSession):
    _client: AsyncClient

    async def search(self, query: str, **more: Any) -> Found:
        """Learnings for a question of this user. The next assistant turn says that it was made with them."""
        more = {"user": self.user_id, "session": self.session_id, **more}
        return self._searched(await self._client.search(query, **more))

    async def __aenter__(self) -> AsyncSession:
        self._enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leave()
