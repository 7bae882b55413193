"""The server for these tests, with the helpers of the Python client's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest
from servers import BINARY, Evenhand


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Evenhand]:
    if not BINARY:
        pytest.skip("BINARY names no binary")
    folder = tmp_path / "server"
    folder.mkdir()
    made = Evenhand(folder).start()
    yield made
    made.stop()
