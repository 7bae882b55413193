"""The lines in the README and the programs under examples/, run as they stand, against the real server."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable, Iterator, Tuple

import pytest
from provider import provider
from servers import BINARY, Evenhand, Stub, until

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = {
    "first_session": ("chat-1", 2, []),
    "async_session": ("chat-2", 2, []),
    "openai_agent": ("openai-1", 3, ["openai"]),
    "anthropic_agent": ("anthropic-1", 2, ["anthropic"]),
    "langgraph_agent": ("thread-1", 3, ["langgraph", "langchain_openai"]),
    "litellm_agent": ("litellm-1", 2, ["litellm"]),
}


def run(program: Path, server: Evenhand, state: Path, model: str = "") -> str:
    environment = {
        **os.environ,
        "EVENHAND_URL": server.url,
        "XDG_STATE_HOME": str(state),
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": model,
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": model,
    }
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def finished(server: Evenhand, session: str) -> Any:
    def arrived() -> Any:
        found = server.session("ada", session)
        return found if found and found["finished_at"] is not None else None

    return until(arrived, 30, "the session is there, and finished")


def test_the_lines_in_the_readme(server: Evenhand, tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text("utf-8").split("## From your agent")[1].split("\n## ")[0]
    [lines] = re.findall(r"```python\n(.*?)```", section, re.S)
    assert len([line for line in lines.splitlines() if line.strip()]) == 5
    program = tmp_path / "five_lines.py"
    program.write_text(lines)
    run(program, server, tmp_path)
    found = finished(server, "chat-1")
    assert found["interaction_count"] == 2 and found["finished_at"] is not None


def is_whole(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return False
    return not command.endswith("\\")


def commands(block: str) -> Iterator[Tuple[str, str]]:
    """The commands of a block for a terminal, each with what it prints."""
    for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, *rest = piece.splitlines()
        while not is_whole(command):
            command += "\n" + rest.pop(0)
        yield command, "\n".join(rest)


def test_the_walk_through_the_readme(server: Evenhand, tmp_path: Path) -> None:
    """Every command of the sections for a terminal works, and its answer has the fields that are printed."""
    text = (ROOT / "README.md").read_text("utf-8").split("## A first session")[1].split("\n## How fast")[0]
    (tmp_path / "evenhand").symlink_to(BINARY)
    environment = {**server.environment, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    purge, walked = "", 0
    # The first block starts the server.
    for block in re.findall(r"```console\n(.*?)```", text, re.S)[1:]:
        for command, printed in commands(block):
            command = command.replace("http://127.0.0.1:8701", server.url).replace("01a1dd…", purge)
            command = command.replace("--data-dir /tmp/tour", shlex.join(server.data))
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
            )
            assert done.returncode == 0, (command, done.stderr)
            wanted, found = (re.findall(r'"(\w+)":', said) for said in (printed, done.stdout))
            if printed:
                assert wanted == (found[: len(wanted)] if "…\n}" in printed else found), command
            purge = json.loads(done.stdout)["purge_id"] if "governance erase" in command else purge
            walked += 1
    assert walked == 8


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str, server: Evenhand, stub: Callable[..., Stub], tmp_path: Path) -> None:
    session, turns, packages = EXAMPLES[name]
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    said = run(ROOT / "examples" / "python" / f"{name}.py", server, tmp_path, stub(provider).url)
    assert said.strip()
    # A server too slow for the end of the process gets the rest from the next one.
    follow_up = tmp_path / "follow_up.py"
    follow_up.write_text("import evenhand; assert evenhand.flush(60)")
    run(follow_up, server, tmp_path)
    found = until(lambda: server.session("ada", session), 20, "the session arrived")
    assert found["interaction_count"] == turns


def test_no_example_is_left_out() -> None:
    assert {path.stem for path in (ROOT / "examples" / "python").glob("*.py")} == set(EXAMPLES)
