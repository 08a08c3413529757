"""Every store passes the same tests."""

from collections.abc import Callable

import pytest

from emulator.core.state import State
from emulator.state.memory import MemoryState

NewState = Callable[[], State]


@pytest.fixture(params=[pytest.param(MemoryState, id="memory")], scope="session")
def new_state(request: pytest.FixtureRequest) -> NewState:
    """Opens an empty store."""
    return request.param  # type: ignore[no-any-return]  # one of the above


@pytest.fixture
def state(new_state: NewState) -> State:
    return new_state()
