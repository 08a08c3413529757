"""Fixtures for all verbs."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / f"s{len(list(tmp_path.iterdir()))}.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write
