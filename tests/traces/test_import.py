"""`evenhand import` of files in every format: nothing twice and nothing lost, though it or the server is killed.

TRACES (default 150) is the number of conversations in each file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import List

import pytest
from exports import FORMATS, Trace, lines
from reading import sessions, told
from servers import BINARY, ENVIRONMENT, Evenhand, until

TRACES = int(os.environ.get("TRACES", "150"))


def command(server: Evenhand, form: str, file: Path) -> List[str]:
    return [BINARY, "import", form, str(file), "--url", server.url]


def begin(server: Evenhand, form: str, file: Path) -> subprocess.Popen[bytes]:
    """Starts an import, and returns when a quarter of the conversations is stored."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    importing = subprocess.Popen(command(server, form, file), env=ENVIRONMENT, **quiet)
    until(lambda: sum(1 for _ in sessions(server)) > TRACES / 4, 600, "a quarter is stored")
    return importing


def run(server: Evenhand, form: str, file: Path) -> str:
    done = subprocess.run(command(server, form, file), env=ENVIRONMENT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    return done.stdout


def everything() -> dict:
    return {(trace.user, trace.session): trace.turns() for trace in map(Trace, range(TRACES))}


@pytest.mark.parametrize("form", FORMATS)
def test_killed_in_the_middle(form: str, server: Evenhand, tmp_path: Path) -> None:
    file = tmp_path / f"{form}.jsonl"
    file.write_text("".join(lines(form, TRACES)))
    began = time.monotonic()
    importing = begin(server, form, file)
    importing.kill()
    assert importing.wait(30) == -signal.SIGKILL, "it was through before it was killed: raise TRACES"
    killed = time.monotonic()
    before = sum(1 for _ in sessions(server))
    assert 0 < before < TRACES

    resumed = time.monotonic()
    said = run(server, form, file)
    ended = time.monotonic()
    assert told(server) == everything()
    assert not Path(f"{file}.evenhand-import").exists(), "the note goes when the file is through"
    turns = sum(one["interaction_count"] for one in sessions(server))
    print(
        f"\n{form}: {TRACES} traces in {file.stat().st_size / 1e6:.1f} MB: killed after {killed - began:.1f} s"
        f" with {before} sessions, resumed in {ended - resumed:.1f} s: {TRACES} sessions, {turns} turns"
    )

    again = run(server, form, file)
    publishes = said.split(": ")[-1].split(" publishes")[0]
    assert f"{publishes} were there before" in again
    assert sum(one["interaction_count"] for one in sessions(server)) == turns


def test_while_the_server_is_killed(server: Evenhand, tmp_path: Path) -> None:
    file = tmp_path / "openai.jsonl"
    file.write_text("".join(lines("openai", TRACES)))
    importing = begin(server, "openai", file)
    server.stop(signal.SIGKILL)
    assert importing.poll() is None, "it was through before the server was killed: raise TRACES"
    server.start()
    assert importing.wait(600) == 0
    assert told(server) == everything()
