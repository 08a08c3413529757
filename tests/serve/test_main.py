"""The start of ``emulator serve``."""

import pytest

from emulator.serve.main import find_workers_warning


@pytest.mark.parametrize(("system", "warns"), [("darwin", True), ("linux", False)])
def test_workers_are_warned_of_where_one_gets_every_connection(system: str, warns: bool) -> None:
    assert (find_workers_warning(system) is not None) is warns
