"""Requests and answers: addresses, headers, errors, and times that the server says."""

from __future__ import annotations

import email.utils
import time
from typing import Any, Dict, List, Mapping, Optional

import httpx

from .settings import Settings


class EvenhandError(Exception):
    """Anything that went wrong here."""


class ApiError(EvenhandError):
    """The server refused a request; `code` is stable, `detail` says what to do next."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code") or "")
        self.detail = str(problem.get("detail") or "")
        errors = problem.get("errors")
        self.errors: List[Dict[str, Any]] = list(errors) if isinstance(errors, list) else []
        super().__init__(f"{status} {self.code}: {self.detail}")


def headers(settings: Settings) -> Dict[str, str]:
    found = {"User-Agent": "evenhand-python/0.1.0"}
    if settings.api_key:
        found["Authorization"] = f"Bearer {settings.api_key}"
    return found


def problem(response: httpx.Response) -> ApiError:
    try:
        body = response.json()
    except ValueError:
        body = {}
    return ApiError(response.status_code, body if isinstance(body, dict) else {})


def retry_after(response: httpx.Response) -> Optional[float]:
    """Seconds to wait, from a number or a date."""
    value = response.headers.get("retry-after")
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def clock_ahead(response: httpx.Response) -> Optional[float]:
    """How far this machine's clock is before the server's, to a second."""
    value = response.headers.get("date")
    try:
        return time.time() - email.utils.parsedate_to_datetime(value).timestamp() if value else None
    except (TypeError, ValueError):
        return None


def query(values: Optional[Mapping[str, Any]]) -> Dict[str, str]:
    found = {}
    for name, value in (values or {}).items():
        if value is not None:
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found
