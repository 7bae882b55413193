from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from servers import BINARY, Answer, Evenhand, Request, Stub
from servers import server as server

import evenhand

# LiteLLM reads a list of prices from the network when it is imported; tests stay on this machine.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"


@pytest.fixture(autouse=True)
def no_leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spools of the default client go to the test's folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("EVENHAND_URL", "EVENHAND_API_KEY", "EVENHAND_SPOOL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evenhand]:
    """One server for tests that do not stop it; each uses users of its own."""
    if not BINARY:
        pytest.skip("BINARY names no binary")
    server = Evenhand(tmp_path_factory.mktemp("shared")).start()
    yield server
    server.stop()


@pytest.fixture
def stub() -> Iterator[Callable[[Callable[[Request], Answer]], Stub]]:
    made = []

    def make(answer: Callable[[Request], Answer]) -> Stub:
        made.append(Stub(answer))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Callable[..., evenhand.Client]]:
    """Makes clients that raise, so that a test sees every fault."""
    made = []

    def make(url: str, **more: Any) -> evenhand.Client:
        # The first search of a server beside other tests can take longer than users would wait.
        patience = {"search_timeout": 30, "strict": True}
        settings = {"spool": tmp_path / "spool", "batch_seconds": 0.05, "max_backoff": 0.2, **patience, **more}
        made.append(evenhand.Client(url, **settings))
        return made[-1]

    yield make
    for one in made:
        one.close()
