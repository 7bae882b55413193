"""Sends batches from the spool, one after the other, in a thread of its own. Nothing here raises into the agent."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Deque, Dict, List, Optional, Tuple

import httpx

from . import repair, wire
from .settings import Settings
from .spool import Batch, Entry, Spool

log = logging.getLogger("evenhand")

# A batch is sent before it comes near the server's bound of 10 MiB.
BATCH_BYTES = 2 * 1024 * 1024
ADOPT_EVERY = 30.0
# An outcome may come before its session, from another process: it is tried again that long.
KEEP_UNKNOWN = 24 * 3600.0

Key = Tuple[str, str]


@dataclass(frozen=True)
class Stats:
    """Counts of the turns and reports recorded by this process."""

    delivered: int
    # Refused by the server for good, or recorded while the spool was full.
    dropped: int
    # Batches not delivered yet, and their size.
    waiting: int
    waiting_bytes: int
    # Why the newest attempt failed; None after one that did not.
    last_error: Optional[str]


class Delivery:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._start()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _start(self) -> None:
        self.changed = threading.Condition()
        self.spool = Spool(self.settings.spool, self.settings.max_spool_bytes)
        self.open: Dict[Key, Batch] = {}
        self.waiting: Deque[str] = deque()
        # Batches that wait for something else than the server: when to try again, and since when.
        self.aside: Dict[str, Tuple[float, float]] = {}
        self.thread: Optional[threading.Thread] = None
        self.ended = False
        self.hurry = False
        self.delivered = self.dropped = self.failures = self.attempts = 0
        self.not_before = 0.0
        # Whether the server itself asked for the wait.
        self.told_to_wait = False
        self.last_error: Optional[str] = None
        self.ahead: Optional[float] = None
        self.full_said = False

    def _forked(self) -> None:
        """The parent goes on with its batches; the child begins with none."""
        if self.spool.disk is not None:
            self.spool.disk.forget()
        self._start()

    # Recording. These calls touch the disk and never the network.

    def record(self, key: Key, fields: Dict[str, Any], turn: Dict[str, Any]) -> bool:
        self._again()
        with self.changed:
            for _ in range(2):
                batch = self.open.get(key) or self.spool.open(repair.PUBLISH, fields)
                if batch is None:
                    break
                self.open[key] = batch
                try:
                    if not self.spool.append(batch, turn):
                        if batch.turns == 0:
                            self.spool.remove(self.open.pop(key).name)
                        break
                except OSError as error:
                    log.warning("the spool cannot be written: %s", error)
                    self._close(key)
                    continue
                if batch.turns >= self.settings.batch_turns or batch.bytes >= BATCH_BYTES:
                    self._close(key)
                self._wake()
                return True
            self._drop(1, "the spool is full")
            return False

    def finish(self, key: Key, fields: Dict[str, Any]) -> None:
        self._again()
        with self.changed:
            batch = self.open.get(key) or self.spool.open(repair.PUBLISH, fields)
            if batch is None:
                self._drop(1, "the spool is full")
                return
            self.open[key] = batch
            try:
                self.spool.mark(batch, {"session_finished": True})
            except OSError as error:
                log.warning("the spool cannot be written: %s", error)
            self._close(key)
            self._wake()

    def report(self, session_id: str, path: str, body: Dict[str, Any]) -> bool:
        """Sends a report about a session after everything recorded of it."""
        self._again()
        with self.changed:
            for key in [key for key in self.open if key[1] == session_id]:
                self._close(key)
            batch = self.spool.open(path, body)
            if batch is None:
                self._drop(1, "the spool is full")
                return False
            self.waiting.append(batch.name)
            self._wake()
            return True

    def _close(self, key: Key) -> None:
        batch = self.open.pop(key, None)
        if batch is not None:
            self.waiting.append(batch.name)

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        if why == "the spool is full":
            if self.full_said:
                return
            self.full_said = True
        log.error("%s: %d dropped", why, count)

    def _wake(self) -> None:
        if self.thread is None and not self.ended:
            thread = threading.Thread(target=self._run, name="evenhand-delivery", daemon=True)
            try:
                thread.start()
                self.thread = thread
            except RuntimeError:  # The interpreter ends: the next process delivers it.
                pass
        self.changed.notify_all()

    def _again(self) -> None:
        """Turns recorded after the end, as last words of other parts are, get a spool of their own."""
        if self.ended:
            self._start()

    # Waiting for delivery.

    def flush(self, timeout: float, give_up: bool = False) -> bool:
        """Waits until everything recorded so far is delivered, also by processes that ended.

        With `give_up`, it does not wait after an attempt has failed.
        """
        limit = time.monotonic() + timeout
        with self.changed:
            self._adopt()
            for key in list(self.open):
                self._close(key)
            attempts = self.attempts
            self.hurry = True
            if not self.told_to_wait:
                self.not_before = 0.0
            self._wake()
            while self.waiting or self.aside:
                failed = self.attempts > attempts and self.last_error is not None
                left = limit - time.monotonic()
                if left <= 0 or (give_up and (failed or not self.waiting)):
                    return False
                self.changed.wait(left)
            return True

    def close(self, timeout: float) -> None:
        if self.ended:
            return
        if self.thread is not None:
            self.flush(timeout, give_up=True)
        with self.changed:
            self.ended = True
            self.changed.notify_all()
        if self.thread is not None:
            self.thread.join(0.5)
        self.spool.end()

    def stats(self) -> Stats:
        with self.changed:
            waiting = len(self.waiting) + len(self.open) + len(self.aside)
            return Stats(self.delivered, self.dropped, waiting, self.spool.bytes, self.last_error)

    # The thread.

    def _run(self) -> None:
        client = httpx.Client(
            base_url=self.settings.url, headers=wire.headers(self.settings), timeout=self.settings.timeout
        )
        adopted = float("-inf")
        with client:
            while True:
                with self.changed:
                    if self.ended:
                        return
                    now = time.monotonic()
                    if now - adopted >= ADOPT_EVERY:
                        adopted = now
                        self._adopt()
                    name = self._next(now)
                    if name is None:
                        self.changed.wait(self._pause(now))
                        continue
                try:
                    self._attempt(client, name)
                except Exception:  # A fault here must not end the thread.
                    log.exception("a batch could not be handled")
                    self._retry("internal", None)

    def _adopt(self) -> None:
        try:
            names = self.spool.adopt()
        except OSError as error:
            log.warning("what was left in the spool could not be read: %s", error)
            return
        if names:
            log.info("%d batches of an earlier process are delivered now", len(names))
            # They are older than what is waiting.
            self.waiting.extendleft(reversed(names))

    def _next(self, now: float) -> Optional[str]:
        for key, batch in list(self.open.items()):
            if now - batch.opened >= self.settings.batch_seconds:
                self._close(key)
        if now < self.not_before:
            return None
        for name, (due, _) in list(self.aside.items()):
            if due <= now or self.hurry:
                return name
        return self.waiting[0] if self.waiting else None

    def _pause(self, now: float) -> float:
        times: List[float] = [ADOPT_EVERY]
        times += [batch.opened + self.settings.batch_seconds - now for batch in self.open.values()]
        times += [due - now for due, _ in self.aside.values()]
        if self.not_before > now and (self.waiting or self.aside):
            times = [self.not_before - now, ADOPT_EVERY]
        return max(0.005, min(times))

    def _attempt(self, client: httpx.Client, name: str) -> None:
        try:
            if self.ahead is None:
                # The first contact tells the server's time, by which batches are dated.
                self.ahead = wire.clock_ahead(client.get("/health/live")) or 0.0
            entry = self.spool.entry(name, self.ahead)
            if entry is None:
                self._done(name, 0)
                return
            response = client.post(entry["path"], json=entry["body"])
        except Exception as error:  # No answer, or no way to ask: a wrong address, a certificate.
            self._retry(type(error).__name__, None)
            return
        ahead = wire.clock_ahead(response)
        self.ahead = self.ahead if ahead is None else ahead
        if response.status_code == 200:
            self._done(name, turns(entry))
            return
        self._refused(name, entry, wire.problem(response), wire.retry_after(response))

    def _refused(self, name: str, entry: Entry, error: wire.ApiError, pause: Optional[float]) -> None:
        if error.code == "request_id_reused":
            # The id is ours alone: an earlier attempt arrived, and something of the request was changed since.
            self._done(name, turns(entry))
        elif repair.transient(error):
            self._retry(f"{error.status} {error.code}".strip(), pause)
        elif error.status == 404 and entry["path"] != repair.PUBLISH:
            self._set_aside(name)
        elif error.status == 413 and (parts := repair.halves(entry, name)):
            with self.changed:
                for part, half in parts:
                    self.spool.add_sealed(part, half, beside=name)
                self._leave(name)
                self.waiting.extendleft(part for part, _ in reversed(parts))
        elif error.status == 422 and (changed := repair.without_refused_parts(entry, error)):
            log.error("the server refused parts of a batch, which are left out: %s", places(error))
            self.spool.replace(name, changed)
        else:
            with self.changed:
                self._drop(max(1, turns(entry)), f"refused by the server ({error.status} {error.code})")
                self._leave(name)
                self.last_error = None
                self.changed.notify_all()

    def _set_aside(self, name: str) -> None:
        """The session is not known yet; others go on meanwhile."""
        with self.changed:
            now = time.monotonic()
            since = self.aside.get(name, (0.0, now))[1]
            if name in self.waiting:
                self.waiting.remove(name)
            self.hurry = False
            if now - since > KEEP_UNKNOWN:
                self._drop(1, "the session of a report never came")
                self._leave(name)
            else:
                self.aside[name] = (now + min(300.0, max(1.0, now - since)), since)
            self.attempts += 1
            self.changed.notify_all()

    def _leave(self, name: str) -> None:
        self.spool.remove(name)
        self.aside.pop(name, None)
        if name in self.waiting:
            self.waiting.remove(name)

    def _done(self, name: str, count: int) -> None:
        with self.changed:
            self._leave(name)
            self.delivered += count
            self.attempts += 1
            self.failures, self.not_before, self.last_error = 0, 0.0, None
            self.full_said = False
            if not self.waiting:
                self.hurry = False
            self.changed.notify_all()

    def _retry(self, why: str, pause: Optional[float]) -> None:
        with self.changed:
            if self.last_error != why:
                log.warning("Evenhand at %s does not take batches (%s); they are kept", self.settings.url, why)
            self.last_error = why
            self.failures += 1
            self.attempts += 1
            backoff = min(self.settings.max_backoff, 0.1 * 2.0 ** min(self.failures - 1, 20))
            wait = min(pause, 300.0) if pause is not None else backoff * random.uniform(0.5, 1.0)
            self.not_before = time.monotonic() + wait
            self.told_to_wait = pause is not None
            self.hurry = False
            self.changed.notify_all()


def turns(entry: Entry) -> int:
    return len(entry["body"].get("interaction_data_list", [])) or 1


def places(error: wire.ApiError) -> str:
    return ", ".join(f"{one.get('pointer')} {one.get('code')}" for one in error.errors) or error.code
