"""Sessions by user and id, for handlers that serve many of them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Dict, Mapping, Optional, Tuple, Union

from . import default_client
from .client import AsyncClient, Client
from .session import BaseSession, current_session

MOST = 1000


class KnownSessions:
    """Finds the session of a call: fixed by the handler, named in the call's metadata, or the current `with` block."""

    def __init__(
        self,
        client: Optional[Union[Client, AsyncClient]],
        user: Optional[str],
        session: Optional[str],
        more: Dict[str, Any],
    ) -> None:
        self._client, self._user, self._session, self._more = client, user, session, more
        self._guard = threading.Lock()
        self._known: OrderedDict[Tuple[str, str], BaseSession] = OrderedDict()

    def find(self, metadata: Optional[Mapping[str, Any]]) -> Optional[BaseSession]:
        given = metadata or {}
        user = self._user or given.get("user_id")
        session = self._session or given.get("session_id") or given.get("thread_id")
        if user and session:
            return self._get(str(user), str(session))
        return current_session()

    def _get(self, user: str, session: str) -> BaseSession:
        with self._guard:
            found = self._known.get((user, session))
            if found is None:
                client = self._client or default_client()
                found = client.session(user, session, **self._more)
                self._known[(user, session)] = found
            self._known.move_to_end((user, session))
            while len(self._known) > MOST:
                _, oldest = self._known.popitem(last=False)
                oldest.conversation.settle()
            return found
