"""Keeps what was recorded until the server has it: in a folder, or in memory where there is none.

A batch is a file of lines. Its first line says where it goes, the others are turns, each appended when it happens, so
that a killed process loses nothing it was told was recorded. When a batch is first sent it is sealed: its request is
written whole, and never changes while its outcome is unknown. That makes repeats safe.

Each process has a folder of its own and holds a lock on it. Folders whose lock is free belonged to processes that
ended; their batches are taken over.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
import time
import uuid
from pathlib import Path
from typing import Any, Dict, List, Optional

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("evenhand")

OPEN, SEALED = ".open", ".json"


class Entry(Dict[str, Any]):
    """A request: `path`, `body`."""


class Memory:
    """The same as a folder, without one."""

    def __init__(self) -> None:
        self.files: Dict[str, bytes] = {}

    def append(self, name: str, data: bytes) -> None:
        self.files[name] = self.files.get(name, b"") + data

    def write(self, name: str, data: bytes) -> None:
        self.files[name] = data

    def read(self, name: str) -> Optional[bytes]:
        return self.files.get(name)

    def remove(self, name: str) -> None:
        self.files.pop(name, None)

    def adopt(self) -> List[str]:
        return []

    def end(self) -> None:
        self.files.clear()


class Folder:
    """A folder below `root` that only this process uses."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.handles: Dict[str, int] = {}
        self.lock: Optional[int] = None
        # Another process may take a new folder for one that was left, before the lock on it is held.
        for _ in range(10):
            self.path = root / f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
            self.path.mkdir(mode=0o700)
            self.lock = lock(self.path)
            if self.lock is not None and self.path.exists():
                return
        raise OSError(f"no lock can be held in {root}")

    def append(self, name: str, data: bytes) -> None:
        handle = self.handles.get(name)
        if handle is None:
            handle = os.open(self.path / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            self.handles[name] = handle
        written = os.write(handle, data)
        if written != len(data):  # The disk is full: half a line is ended, so that the next one is whole.
            os.write(handle, b"\n")
            raise OSError("the spool took a part of a line only")

    def write(self, name: str, data: bytes) -> None:
        part = self.path / f"{name}.part"
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(part, self.path / name)

    def read(self, name: str) -> Optional[bytes]:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        handle = self.handles.pop(name, None)
        if handle is not None:
            os.close(handle)
        try:
            os.unlink(self.path / name)
        except FileNotFoundError:
            pass

    def adopt(self) -> List[str]:
        """Takes over the batches of processes that ended, and gives back their names, oldest first."""
        found: List[str] = []
        for other in sorted(self.root.iterdir()):
            if other == self.path or not other.is_dir():
                continue
            held = lock(other)
            if held is None:
                continue
            try:
                for file in sorted(other.iterdir()):
                    if file.suffix in (OPEN, SEALED):
                        os.replace(file, self.path / file.name)
                        found.append(file.name)
                shutil.rmtree(other, ignore_errors=True)
            finally:
                os.close(held)
        return sorted(found)

    def end(self) -> None:
        """Leaves the folder to the next process, or removes it when nothing is left in it."""
        self.forget()
        try:
            (self.path / "lock").unlink()
            self.path.rmdir()
        except OSError:
            pass

    def forget(self) -> None:
        """Closes files and lock; the batches stay. A forked child calls it, for they are its parent's."""
        for handle in [*self.handles.values(), *([self.lock] if self.lock is not None else [])]:
            try:
                os.close(handle)
            except OSError:
                pass
        self.handles, self.lock = {}, None


def lock(folder: Path) -> Optional[int]:
    """Holds the folder's lock as long as the handle is open; None when another process holds it."""
    try:
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:  # pragma: no cover
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    except OSError:
        os.close(handle)
        return None
    return handle


class Batch:
    """Turns of one session on their way into one request."""

    def __init__(self, name: str, store: Any) -> None:
        self.name, self.store = name, store
        self.turns = 0
        self.bytes = 0
        self.opened = time.monotonic()


class Spool:
    """All batches of this process, with a bound on their size. Safe to use from several threads."""

    def __init__(self, root: Optional[Path], max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self.sizes: Dict[str, int] = {}
        self.stores: Dict[str, Any] = {}
        self.guard = threading.RLock()
        self.count = 0
        self.memory = Memory()
        self.root = root
        self.disk: Optional[Folder] = None

    def _folder(self) -> Optional[Folder]:
        """The folder of this process, made when it is first needed: a child that records nothing makes none."""
        if self.disk is None and self.root is not None:
            try:
                self.disk = Folder(self.root)
            except OSError as error:
                log.warning("no spool in %s (%s): what is not delivered is kept in memory only", self.root, error)
                self.root = None
        return self.disk

    def open(self, path: str, body: Dict[str, Any]) -> Optional[Batch]:
        """A new batch, or None when there is no room."""
        with self.guard:
            self.count += 1
            name = f"{int(time.time() * 1000):013d}-{self.count:06d}-{uuid.uuid4().hex}"
            line = encode({"path": path, "body": body, "at": time.time()}) + b"\n"
            for store in (self._folder(), self.memory):
                if store is None:
                    continue
                batch = Batch(name, store)
                self.stores[name] = store
                try:
                    if not self._add(batch, line):
                        break
                    return batch
                except OSError as error:
                    log.warning("the spool cannot be written (%s): going on in memory", error)
                    self._forget(name)
            self.stores.pop(name, None)
            return None

    def _add(self, batch: Batch, line: bytes) -> bool:
        if self.bytes + len(line) > self.max_bytes:
            return False
        batch.store.append(batch.name + OPEN, line)
        batch.bytes += len(line)
        self.sizes[batch.name] = self.sizes.get(batch.name, 0) + len(line)
        self.bytes += len(line)
        return True

    def append(self, batch: Batch, turn: Dict[str, Any]) -> bool:
        """False when there is no room. An OSError says that this batch takes nothing more."""
        with self.guard:
            if not self._add(batch, encode(turn) + b"\n"):
                return False
            batch.turns += 1
            return True

    def mark(self, batch: Batch, fields: Dict[str, Any]) -> None:
        """Sets fields of the request; they may pass the bound, being small."""
        with self.guard:
            batch.store.append(batch.name + OPEN, encode({"set": fields}) + b"\n")

    def adopt(self) -> List[str]:
        with self.guard:
            if self.root is None or not self.root.exists():
                return []
            disk = self._folder()
            if disk is None:
                return []
            names: List[str] = []
            for file in disk.adopt():
                name = file.rsplit(".", 1)[0]
                self.stores[name] = disk
                size = len(disk.read(file) or b"")
                self.sizes[name] = self.sizes.get(name, 0) + size
                self.bytes += size
                if name not in names:
                    names.append(name)
            return names

    def entry(self, name: str, ahead: float) -> Optional[Entry]:
        """The request of a batch, sealed. `ahead` is how far this machine's clock is before the server's."""
        with self.guard:
            store = self.stores.get(name)
            if store is None:
                return None
            sealed = store.read(name + SEALED)
            if sealed is not None:
                try:
                    entry = Entry(json.loads(sealed))
                    store.remove(name + OPEN)
                    return entry
                except ValueError:  # As after a power failure, which kill -9 is not.
                    log.error("a batch in the spool cannot be read and is lost")
                    store.remove(name + SEALED)
            made = assemble(store.read(name + OPEN) or b"", name, ahead)
            if made is not None:
                self._seal(store, name, made)
            return made

    def _seal(self, store: Any, name: str, entry: Entry) -> None:
        try:
            store.write(name + SEALED, encode(entry))
        except OSError as error:  # A full disk: the open batch stays, and is assembled in the same way again.
            log.warning("a batch could not be sealed: %s", error)
            return
        store.remove(name + OPEN)

    def replace(self, name: str, entry: Entry) -> None:
        """Another request in the place of one that the server refused."""
        with self.guard:
            if name in self.stores:
                self._seal(self.stores[name], name, entry)

    def add_sealed(self, name: str, entry: Entry, beside: str) -> None:
        """A request of a given name, kept in the same way as the batch `beside`."""
        with self.guard:
            store = self.stores.get(beside, self.memory)
            self.stores[name] = store
            self._seal(store, name, entry)
            self.sizes[name] = len(encode(entry))
            self.bytes += self.sizes[name]

    def remove(self, name: str) -> None:
        with self.guard:
            store = self.stores.get(name)
            if store is not None:
                store.remove(name + OPEN)
                store.remove(name + SEALED)
            self._forget(name)

    def _forget(self, name: str) -> None:
        self.stores.pop(name, None)
        self.bytes -= self.sizes.pop(name, 0)

    def end(self) -> None:
        with self.guard:
            if self.disk is not None:
                self.disk.end()


def encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def assemble(data: bytes, name: str, ahead: float) -> Optional[Entry]:
    """The request of an open batch; None when it holds none. A line that a crash cut short was never acknowledged."""
    lines = []
    for line in data.split(b"\n"):
        try:
            if line:
                lines.append(json.loads(line))
        except ValueError:
            continue
    if not lines or "path" not in lines[0]:
        return None
    head, rest = lines[0], lines[1:]
    # Small differences are the network's; the server takes times of up to a minute ahead.
    shift = ahead if abs(ahead) >= 10 else 0.0
    body = dict(head["body"])
    for line in rest:
        body.update(line.get("set", {}))
    if head["path"] == "/api/publish_interaction":
        turns = [line for line in rest if "set" not in line]
        for turn in turns:
            if turn.get("created_at") is not None:
                turn["created_at"] = int(turn["created_at"] - shift)
        if not turns:
            # Everything of the session is on its way already: only its end is left to say.
            if not body.get("session_finished"):
                return None
            key = {"session_id": body["session_id"], "user_id": body["user_id"]}
            return Entry({"path": "/api/finalize_session", "body": key})
        body["interaction_data_list"] = turns
        body["request_id"] = name.rsplit("-", 1)[1]
        body["created_at"] = turns[0].get("created_at", int(head["at"] - shift))
    elif "occurred_at" in body:
        body["occurred_at"] = int(body["occurred_at"] - shift)
    return Entry({"path": head["path"], "body": body})
