"""The clients: one for programs that wait, one for asyncio."""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import time
import weakref
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import httpx

from . import clean, wire
from .delivery import Delivery, Stats
from .found import Found, found
from .operations import AsyncOperations, Operations
from .session import AsyncSession, BaseSession, Session
from .settings import Settings, settings

log = logging.getLogger("evenhand")

OUTCOMES = ("success", "failure", "unknown")


class Recorder:
    """The part that both clients share: everything that records."""

    def __init__(self, url: Optional[str] = None, api_key: Optional[str] = None, **more: Any) -> None:
        self.settings: Settings = settings(url, api_key, **more)
        self.delivery = Delivery(self.settings)
        self.sessions: weakref.WeakSet[BaseSession] = weakref.WeakSet()
        atexit.register(self._end)

    def _end(self) -> None:
        try:
            for session in list(self.sessions):
                session.conversation.settle()
        except Exception:  # A session that is made meanwhile.
            log.exception("calls of tools were not recorded")
        try:
            self.delivery.close(self.settings.exit_timeout)
        except Exception:
            log.exception("the spool was not closed")

    def outcome(
        self,
        session: str,
        outcome: str,
        *,
        user: Optional[str] = None,
        label: Optional[str] = None,
        value: Optional[float] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        at: Optional[float] = None,
    ) -> None:
        """How a session really ended: success, failure or unknown. Kept and delivered like a turn."""
        try:
            if outcome not in OUTCOMES:
                raise ValueError(f"an outcome is one of {', '.join(OUTCOMES)}, not {outcome!r}")
            body: Dict[str, Any] = {
                "session_id": str(session).strip(),
                "outcome": outcome,
                "occurred_at": time.time() if at is None else at,
            }
            more = {"user_id": user, "label": label, "value": value, "metadata": metadata}
            body.update({name: clean.json_value(one) for name, one in more.items() if one is not None})
            self.delivery.report(body["session_id"], "/api/session_outcome", body)
        except Exception:
            if self.settings.strict:
                raise
            log.exception("an outcome could not be recorded")

    def stats(self) -> Stats:
        """Counts of everything recorded: delivered, dropped, waiting."""
        return self.delivery.stats()

    def _search_failed(self, error: Exception) -> Found:
        if self.settings.strict:
            raise error
        said = str(error) if isinstance(error, wire.ApiError) else type(error).__name__
        log.warning("a search failed (%s): going on without learnings", said)
        return Found(error=said)


def search_body(
    query: str,
    user: Optional[str],
    session: Optional[str],
    top_k: Optional[int],
    kinds: Union[str, Sequence[str], None],
    more: Mapping[str, Any],
) -> Dict[str, Any]:
    body = {"query": query, "user_id": user, "session_id": session, "top_k": top_k, "entity_types": kinds, **more}
    made: Dict[str, Any] = clean.json_value({name: value for name, value in body.items() if value is not None})
    return {**made, "query": str(made.get("query", ""))[:20_000]}


def decoded(response: httpx.Response, raw: bool) -> Any:
    if response.status_code >= 400:
        raise wire.problem(response)
    return response.content if raw else response.json()


class Client(Recorder):
    """Talks to one server with one key.

    `url` and `api_key` come from EVENHAND_URL and EVENHAND_API_KEY when absent. Recording never raises and never waits
    for the server unless `strict=True`. `api` has every operation of the server and raises `ApiError`.
    """

    def __init__(self, url: Optional[str] = None, api_key: Optional[str] = None, **more: Any) -> None:
        super().__init__(url, api_key, **more)
        self._http = httpx.Client(
            base_url=self.settings.url, headers=wire.headers(self.settings), timeout=self.settings.timeout
        )
        self.api = Operations(self._call)

    def _call(self, method: str, path: str, *, body: Any = None, query: Any = None, raw: bool = False) -> Any:
        response = self._http.request(method, path, params=wire.query(query), json=body)
        return decoded(response, raw)

    def session(self, user: str, session: Optional[str] = None, **more: Any) -> Session:
        """A session of a user. As a `with` block it is finished at its end; `finish=False` leaves it open."""
        return Session(self, user, session, **more)

    def search(
        self,
        query: str,
        *,
        user: Optional[str] = None,
        session: Optional[str] = None,
        top_k: Optional[int] = None,
        kinds: Union[str, Sequence[str], None] = None,
        timeout: Optional[float] = None,
        **more: Any,
    ) -> Found:
        """Learnings for a question, within `timeout` seconds; empty when that fails."""
        limit = self.settings.search_timeout if timeout is None else timeout
        try:
            body = search_body(query, user, session, top_k, kinds, more)
            return found(self._search(body, time.monotonic() + limit, limit))
        except Exception as error:
            return self._search_failed(error)

    def _search(self, body: Dict[str, Any], until: float, limit: float) -> Mapping[str, Any]:
        """httpx bounds each wait for bytes, not their sum: a server that sends them one by one is stopped here."""
        with self._http.stream("POST", "/api/search", json=body, timeout=limit) as response:
            parts: List[bytes] = []
            for part in response.iter_bytes():
                parts.append(part)
                if time.monotonic() > until:
                    raise httpx.ReadTimeout("the search took too long")
            whole = b"".join(parts)
        if response.status_code >= 400:
            try:
                raise wire.ApiError(response.status_code, json.loads(whole))
            except ValueError:
                raise wire.ApiError(response.status_code, {}) from None
        answer: Mapping[str, Any] = json.loads(whole)
        return answer

    def flush(self, timeout: float = 10.0) -> bool:
        """Waits until everything recorded so far is delivered; False when it was not within `timeout` seconds."""
        return self.delivery.flush(timeout)

    def close(self) -> None:
        """Delivers what can be delivered within `exit_timeout`; the rest stays in the spool."""
        atexit.unregister(self._end)
        self._end()
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(Recorder):
    """The same for asyncio: `search`, `flush`, `close` and everything in `api` are awaited, recording is not."""

    def __init__(self, url: Optional[str] = None, api_key: Optional[str] = None, **more: Any) -> None:
        super().__init__(url, api_key, **more)
        self._http = httpx.AsyncClient(
            base_url=self.settings.url, headers=wire.headers(self.settings), timeout=self.settings.timeout
        )
        self.api = AsyncOperations(self._call)

    async def _call(self, method: str, path: str, *, body: Any = None, query: Any = None, raw: bool = False) -> Any:
        response = await self._http.request(method, path, params=wire.query(query), json=body)
        return decoded(response, raw)

    def session(self, user: str, session: Optional[str] = None, **more: Any) -> AsyncSession:
        """A session of a user, for `async with`."""
        return AsyncSession(self, user, session, **more)

    async def search(
        self,
        query: str,
        *,
        user: Optional[str] = None,
        session: Optional[str] = None,
        top_k: Optional[int] = None,
        kinds: Union[str, Sequence[str], None] = None,
        timeout: Optional[float] = None,
        **more: Any,
    ) -> Found:
        """Learnings for a question, within `timeout` seconds; empty when that fails."""
        limit = self.settings.search_timeout if timeout is None else timeout
        try:
            body = search_body(query, user, session, top_k, kinds, more)
            sent = self._http.post("/api/search", json=body, timeout=limit)
            return found(decoded(await asyncio.wait_for(sent, limit), raw=False))
        except Exception as error:
            return self._search_failed(error)

    async def flush(self, timeout: float = 10.0) -> bool:
        """Waits until everything recorded so far is delivered; False when it was not within `timeout` seconds."""
        return await asyncio.get_running_loop().run_in_executor(None, self.delivery.flush, timeout)

    async def close(self) -> None:
        """Delivers what can be delivered within `exit_timeout`; the rest stays in the spool."""
        atexit.unregister(self._end)
        await asyncio.get_running_loop().run_in_executor(None, self._end)
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
