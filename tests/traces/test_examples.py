"""The programs in examples/opentelemetry, run as they stand with the real packages, against the real server.

NODE_PACKAGES is a folder with the installed packages of examples/opentelemetry/package.json.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Iterator, List

import pytest
from provider import provider
from servers import BINARY, ENVIRONMENT, Evenhand, Stub

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "opentelemetry"
NODE_PACKAGES = os.environ.get("NODE_PACKAGES", "")
PACKAGES = {
    "openai_agent.py": "opentelemetry.instrumentation.openai_v2",
    "openinference_agent.py": "openinference.instrumentation.openai",
    "traceloop_agent.py": "traceloop.sdk",
}
EVERY = [*PACKAGES, "vercel-ai-agent.mjs"]
TOOL = {"arguments": {"city": "Oslo"}, "result": "sunny"}
SAID = [
    ("User", "Hello", []),
    ("Assistant", "You said: Hello", []),
    ("User", "How is the weather?", []),
    ("Assistant", "", [{"tool_name": "weather", "tool_data": TOOL, "status": "success"}]),
    ("Assistant", "It is sunny.", []),
]


def is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def command(name: str, folder: Path) -> List[str]:
    """Runs an example; a program for Node stands beside its packages."""
    if name in PACKAGES:
        return [sys.executable, str(EXAMPLES / name)]
    shutil.copy(EXAMPLES / name, folder)
    (folder / "node_modules").symlink_to(Path(NODE_PACKAGES) / "node_modules")
    return ["node", str(folder / name)]


def missing(name: str) -> str:
    """The reason why an example cannot run here."""
    if name not in PACKAGES:
        return "" if NODE_PACKAGES else "NODE_PACKAGES names no folder"
    return "" if is_installed(PACKAGES[name]) else f"not installed: {PACKAGES[name]}"


class Running:
    """All examples, started at the same time, for one server and one model."""

    def __init__(self, server: Evenhand, model: Stub, folder: Path) -> None:
        self.server = server
        names = {"EVENHAND_URL": server.url, "EVENHAND_TOKEN": server.key("publish")}
        provider = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{model.url}/v1"}
        server.headers = {"authorization": f"Bearer {server.key('dashboard')}"}
        how = {"env": {**ENVIRONMENT, **names, **provider}, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        able = [name for name in EVERY if not missing(name)]
        self.programs = {name: subprocess.Popen(command(name, folder), text=True, **how) for name in able}

    def stop(self) -> None:
        for one in self.programs.values():
            if one.poll() is None:
                one.kill()
                one.wait()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    if not BINARY:
        pytest.skip("BINARY names no binary")
    folder = tmp_path_factory.mktemp("examples")
    server, model = Evenhand(folder).start(), Stub(provider)
    made = Running(server, model, folder)
    yield made
    made.stop()
    model.stop()
    server.stop()


@pytest.mark.parametrize("name", EVERY)
def test_examples(name: str, running: Running) -> None:
    if missing(name):
        pytest.skip(missing(name))
    said, error = running.programs[name].communicate(timeout=300)
    assert running.programs[name].returncode == 0, error
    session = said.strip().splitlines()[-1]
    found = running.server.session("ada", session)
    assert found is not None, error
    assert (found["source"], found["agent_version"], found["request_count"]) == ("weather-agent", "1.0", 3)
    turns = running.server.get(f"/api/sessions/ada/{session}")["interactions"]
    assert [(turn["role"], turn["content"], turn["tools_used"]) for turn in turns] == SAID
    answers = [turn["usage"] for turn in turns if turn["usage"]]
    assert answers and all(usage["model"] and usage["latency_ms"] is not None for usage in answers), turns
    assert all(usage["input_tokens"] and usage["output_tokens"] for usage in answers), answers


def test_no_example_is_left_out() -> None:
    assert sorted(path.name for path in EXAMPLES.glob("*agent.*")) == sorted(EVERY)
