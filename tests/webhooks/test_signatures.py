"""Messages of the real server are verified with the package that the authors of Standard Webhooks publish."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from servers import Evenhand, free_port, until
from standardwebhooks import Webhook, WebhookVerificationError

Message = Tuple[Dict[str, str], bytes]
EXAMPLE = Path(__file__).parents[2] / "examples" / "webhooks" / "receiver.py"


class Receiver:
    """Keeps every message as it arrived, and answers with `status`."""

    def __init__(self) -> None:
        self.messages: List[Message] = []
        self.status = 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.messages.append((dict(self.headers), body))
                self.send_response(receiver.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Evenhand]:
    server = Evenhand(tmp_path)
    server.environment = {
        **server.environment,
        "EVENHAND_WEBHOOKS__ALLOW_PRIVATE_ADDRESSES": "true",
        "EVENHAND_EVALUATION__QUIET_SECONDS": "0",
    }
    server.start()
    yield server
    server.stop()


def failed_session(server: Evenhand, session: str) -> None:
    turns = [
        {"role": "User", "content": "Where is my parcel?"},
        {"role": "Assistant", "content": "It arrives on Tuesday."},
        {"role": "User", "content": "That is wrong. I asked for my parcel, not for the weather. This is useless."},
    ]
    this = {"user_id": "ada", "session_id": session}
    server.post("/api/publish_interaction", {**this, "interaction_data_list": turns, "session_finished": True})


def test_the_public_package_verifies_every_message(server: Evenhand, receiver: Receiver) -> None:
    created = server.post("/api/webhooks", {"url": receiver.url, "events": ["session.failed"]})
    secret = created["secret"]
    assert secret.startswith("whsec_")
    server.post(f"/api/webhooks/{created['webhook']['webhook_id']}/test", {})
    until(lambda: len(receiver.messages) == 1, what="the test arrives")
    failed_session(server, "s1")
    until(lambda: len(receiver.messages) == 2, what="the failure arrives")
    verified = [Webhook(secret).verify(body, headers) for headers, body in receiver.messages]
    assert [message["type"] for message in verified] == ["webhook.test", "session.failed"]
    assert verified[1]["data"]["session_id"] == "s1"
    _headers, body = receiver.messages[1]
    assert b"ada" not in body and b"parcel" not in body
    ids = {headers["webhook-id"] for headers, _ in receiver.messages}
    assert len(ids) == 2


def test_a_message_that_was_changed_is_not_verified(server: Evenhand, receiver: Receiver) -> None:
    first = server.post("/api/webhooks", {"url": receiver.url, "events": ["session.failed"]})
    other = server.post("/api/webhooks", {"url": receiver.url, "events": ["judge.paused"]})
    failed_session(server, "s1")
    until(lambda: len(receiver.messages) == 1, what="the failure arrives")
    headers, body = receiver.messages[0]
    Webhook(first["secret"]).verify(body, headers)
    later = {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}
    for secret, said, heads in [
        (first["secret"], body.replace(b"s1", b"s2"), headers),
        (first["secret"], body, {**headers, "webhook-id": "another"}),
        (first["secret"], body, later),
        (other["secret"], body, headers),
    ]:
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(said, heads)


def test_a_message_is_tried_again_under_its_id_and_signed_anew(server: Evenhand, receiver: Receiver) -> None:
    created = server.post("/api/webhooks", {"url": receiver.url, "events": ["session.failed"]})
    receiver.status = 503
    failed_session(server, "s1")
    until(lambda: len(receiver.messages) == 1, what="the first attempt")
    receiver.status = 200
    log = f"/api/webhooks/{created['webhook']['webhook_id']}/deliveries"
    until(lambda: server.get(log)["deliveries"][0]["state"] == "delivered", 30, "the second attempt")
    assert len(receiver.messages) == 2
    for headers, body in receiver.messages:
        Webhook(created["secret"]).verify(body, headers)
    (first, _), (second, _) = receiver.messages
    assert first["webhook-id"] == second["webhook-id"]
    assert first["webhook-timestamp"] != second["webhook-timestamp"]


def test_the_example_takes_what_is_sent_and_nothing_else(server: Evenhand) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    created = server.post("/api/webhooks", {"url": url, "events": ["session.failed"]})
    other = server.post("/api/webhooks", {"url": url, "events": ["judge.paused"]})
    environment = {**os.environ, "SECRET": created["secret"], "PORT": str(port)}
    example = subprocess.Popen([sys.executable, str(EXAMPLE)], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert example.stdout is not None
        assert example.stdout.readline().startswith("listening on ")
        failed_session(server, "s1")
        assert example.stdout.readline().startswith("session.failed {'session_id': 's1'")
        webhook = other["webhook"]["webhook_id"]
        server.post(f"/api/webhooks/{webhook}/test", {})
        log = f"/api/webhooks/{webhook}/deliveries"
        refused = until(lambda: server.get(log)["deliveries"][0]["error"], what="the test is refused")
        assert refused.startswith("not from Evenhand: "), refused
    finally:
        example.kill()
        example.wait()
