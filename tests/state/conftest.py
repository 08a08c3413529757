"""Every store passes the same tests."""

from collections.abc import Callable

import pytest

from emulator.core.state import State
from emulator.state import STORES, open_state

NewState = Callable[[], State]


@pytest.fixture(params=[f"{scheme}://" for scheme in STORES], scope="session")
def new_state(request: pytest.FixtureRequest) -> NewState:
    """Opens an empty store."""
    url: str = request.param
    return lambda: open_state(url)


@pytest.fixture
def state(new_state: NewState) -> State:
    return new_state()
