"""Takes messages of Evenhand: each is verified, and one that was seen before is dropped.

    pip install -r requirements.txt
    SECRET=whsec_… python receiver.py          # listens on 127.0.0.1:9000, or on PORT

The secret is shown when the webhook is made. A server on the same machine needs
EVENHAND_WEBHOOKS__ALLOW_PRIVATE_ADDRESSES=true to send here.
"""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["SECRET"])
seen: set[str] = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            message = webhook.verify(body, dict(self.headers))
        except WebhookVerificationError as error:
            self.answer(401, f"not from Evenhand: {error}")
            return
        if self.headers["webhook-id"] not in seen:
            seen.add(self.headers["webhook-id"])
            print(message["type"], message["data"], flush=True)
        self.answer(200, "taken")

    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
