"""Settings of a client, from arguments, then the environment, then defaults."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

MIB = 1024 * 1024


@dataclass(frozen=True)
class Settings:
    url: str
    api_key: Optional[str]
    # The folder that holds what was not delivered yet; None keeps it in memory.
    spool: Optional[Path]
    max_spool_bytes: int
    # A batch is sent when it has this many turns, or is this old, or when its session ends.
    batch_turns: int
    batch_seconds: float
    # How long one attempt to deliver, a search, and the end of the process may take.
    timeout: float
    search_timeout: float
    exit_timeout: float
    # The longest wait between two attempts while the server is away.
    max_backoff: float
    # Raise instead of logging: for tests and development.
    strict: bool
    source: Optional[str]
    agent_version: Optional[str]


def state_folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(base) if base else Path.home() / ".local" / "state"


def default_spool(url: str, api_key: Optional[str]) -> Optional[Path]:
    """A folder per server and key, so that one organization's sessions are never sent with another's key."""
    named = os.environ.get("EVENHAND_SPOOL")
    if named:
        return Path(named)
    name = hashlib.sha256(f"{url}\0{api_key or ''}".encode()).hexdigest()[:16]
    try:
        return state_folder() / "evenhand" / "python" / name
    except RuntimeError:  # No home folder.
        return None


def settings(
    url: Optional[str] = None,
    api_key: Optional[str] = None,
    *,
    spool: Union[str, Path, bool, None] = None,
    max_spool_bytes: int = 64 * MIB,
    batch_turns: int = 100,
    batch_seconds: float = 0.5,
    timeout: float = 10.0,
    search_timeout: float = 2.0,
    exit_timeout: float = 5.0,
    max_backoff: float = 30.0,
    strict: bool = False,
    source: Optional[str] = None,
    agent_version: Optional[str] = None,
) -> Settings:
    address = (url or os.environ.get("EVENHAND_URL") or "http://127.0.0.1:8700").rstrip("/")
    key = api_key or os.environ.get("EVENHAND_API_KEY") or None
    folder = None if spool is False else Path(spool) if isinstance(spool, (str, Path)) else default_spool(address, key)
    return Settings(
        url=address,
        api_key=key,
        spool=folder,
        max_spool_bytes=max_spool_bytes,
        batch_turns=max(1, min(batch_turns, 1000)),
        batch_seconds=batch_seconds,
        timeout=timeout,
        search_timeout=search_timeout,
        exit_timeout=exit_timeout,
        max_backoff=max_backoff,
        strict=strict,
        source=source or None,
        agent_version=agent_version or None,
    )
