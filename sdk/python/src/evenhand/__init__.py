"""Client of Evenhand: records agent sessions, searches what was learned, reports outcomes.

    import evenhand

    with evenhand.session("ada", "chat-1") as s:
        s.user("Where is my parcel?")
        s.assistant("It arrives on Tuesday.", tools=["look_up_order"])

The functions here use one client for the process, made from EVENHAND_URL and EVENHAND_API_KEY at the first call, or by
`configure`.
"""

from __future__ import annotations

import threading
from typing import Any, Optional, TypeVar

from .client import AsyncClient, Client
from .delivery import Stats
from .found import Found
from .session import AsyncSession, BaseSession, Session, current_session
from .wire import ApiError, EvenhandError
from .wrap import wrap as _wrap

__version__ = "0.1.0"

__all__ = [
    "configure",
    "session",
    "search",
    "outcome",
    "wrap",
    "flush",
    "stats",
    "default_client",
    "current_session",
    "Client",
    "AsyncClient",
    "Session",
    "AsyncSession",
    "Found",
    "Stats",
    "EvenhandError",
    "ApiError",
]

C = TypeVar("C")

_guard = threading.Lock()
_default: Optional[Client] = None


def configure(url: Optional[str] = None, api_key: Optional[str] = None, **more: Any) -> Client:
    """Makes the client that the functions of this module use; an earlier one is closed."""
    global _default
    with _guard:
        before, _default = _default, Client(url, api_key, **more)
        made = _default
    if before is not None:
        before.close()
    return made


def default_client() -> Client:
    """The client that the functions of this module use."""
    global _default
    with _guard:
        if _default is None:
            _default = Client()
        return _default


def session(user: str, session: Optional[str] = None, **more: Any) -> Session:
    """A session of a user. As a `with` block it is finished at its end; `finish=False` leaves it open."""
    return default_client().session(user, session, **more)


def search(query: str, **more: Any) -> Found:
    """Learnings for a question; empty when nothing fits or the search fails. See `Client.search`."""
    return default_client().search(query, **more)


def outcome(session: str, outcome: str, **more: Any) -> None:
    """How a session really ended: success, failure or unknown. See `Client.outcome`."""
    default_client().outcome(session, outcome, **more)


def flush(timeout: float = 10.0) -> bool:
    """Waits until everything recorded so far is delivered; False when it was not within `timeout` seconds."""
    return default_client().flush(timeout)


def stats() -> Stats:
    """Counts of everything recorded: delivered, dropped, waiting."""
    return default_client().stats()


def wrap(client: C, session: Optional[BaseSession] = None) -> C:
    """A copy of an OpenAI or Anthropic client, sync or async, whose calls are recorded.

    They go into `session`, or else into the session whose `with` block is being run; without one nothing is recorded.
    """
    return _wrap(client) if session is None else _wrap(client, lambda: session)
