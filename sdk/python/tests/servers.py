"""Servers that tests start: the real one, and one that answers as a test says."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import httpx
import pytest

BINARY = os.environ.get("BINARY", "")
# The server refuses variables it does not know, and the client's are none of its own.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("EVENHAND_")}


def until(condition: Callable[[], Any], seconds: float = 20.0, what: str = "the condition") -> Any:
    """Waits for a condition, not for a time."""
    limit = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > limit:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Evenhand:
    """The real binary on data of its own; it can be stopped and started again on the same port.

    `database` is the URL of a PostgreSQL to use instead of SQLite.
    """

    def __init__(self, folder: Path, database: str = "") -> None:
        self.folder = folder
        self.data = ["--database-url", database] if database else ["--data-dir", str(folder / "data")]
        self.environment = {**ENVIRONMENT, "EVENHAND_GOVERNANCE__KEYS": "k1:" + "ab" * 32} if database else ENVIRONMENT
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: Optional[subprocess.Popen[bytes]] = None
        self.headers: Dict[str, str] = {}

    def start(self) -> Evenhand:
        log = open(self.folder / "server.log", "ab")
        command = [BINARY, "serve", *self.data, "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment)
        log.close()
        until(self._ready, 180, "the server is ready")
        return self

    def _ready(self) -> bool:
        assert self.process is not None and self.process.poll() is None, (self.folder / "server.log").read_text()
        try:
            return httpx.get(self.url + "/health/ready", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(30)
            self.process = None

    def key(self, role: str = "agent") -> str:
        command = [BINARY, "keys", "create", *self.data, "--role", role, "--name", "test"]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=self.environment).stdout.strip()

    def get(self, path: str, **query: Any) -> Any:
        return httpx.get(self.url + path, params=query, headers=self.headers, timeout=30).raise_for_status().json()

    def post(self, path: str, body: Any) -> Any:
        return httpx.post(self.url + path, json=body, headers=self.headers, timeout=30).raise_for_status().json()

    def session(self, user: str, session: str) -> Optional[Dict[str, Any]]:
        found = self.get("/api/sessions", user_id=user)["sessions"]
        return next((one for one in found if one["session_id"] == session), None)

    def turns(self, user: str) -> List[Dict[str, Any]]:
        """All turns of a user, session by session, each in the order of its transcript."""
        sessions = self.get("/api/sessions", user_id=user, limit=200)["sessions"]
        found = []
        for one in sorted(sessions, key=lambda one: str(one["session_id"])):
            found += self.get(f"/api/sessions/{user}/{one['session_id']}")["interactions"]
        return found


class Request:
    def __init__(self, method: str, path: str, headers: Dict[str, str], body: Any) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body


Answer = Tuple[int, Dict[str, str], Any]


class Stub:
    """Answers with what a function says: (status, headers, body). A list of texts is sent as server-sent events."""

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self.requests: List[Request] = []
        self.answer = answer
        self.released = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                data = self.rfile.read(length)
                request = Request(self.command, self.path, dict(self.headers), json.loads(data) if data else None)
                stub.requests.append(request)
                status, headers, body = stub.answer(request)
                if isinstance(body, list):
                    whole = "".join(body).encode()
                    headers = {"content-type": "text/event-stream", **headers}
                else:
                    whole = json.dumps(body).encode()
                    headers = {"content-type": "application/json", **headers}
                try:
                    self.send_response_only(status)
                    for name, value in {"date": self.date_time_string(), **headers}.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(whole)))
                    self.end_headers()
                    self.wfile.write(whole)
                except OSError:  # The client went away, as some tests want.
                    pass

            do_GET = do_POST = handle_any

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """A client that goes away is what some tests are about."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def published(self) -> List[Request]:
        return [request for request in self.requests if request.path == "/api/publish_interaction"]


def problem(status: int, code: str, errors: Any = None, headers: Optional[Dict[str, str]] = None) -> Answer:
    body = {"type": "", "title": "", "status": status, "detail": "", "code": code, "request_id": "r"}
    return status, headers or {}, {**body, "errors": errors or []}


def script(*answers: Answer) -> Callable[[Request], Answer]:
    """Publishes are answered one after the other, then with 200."""
    left: queue.SimpleQueue[Answer] = queue.SimpleQueue()
    for one in answers:
        left.put(one)

    def answer(request: Request) -> Answer:
        if request.path == "/health/live" or left.empty():
            return 200, {}, {}
        return left.get()

    return answer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Evenhand]:
    """A server of the test's own, which the test may stop."""
    if not BINARY:
        pytest.skip("BINARY names no binary")
    folder = tmp_path / "server"
    folder.mkdir()
    made = Evenhand(folder).start()
    yield made
    made.stop()
