"""A store that replicas share."""

import pytest


@pytest.fixture
def url(server_url: str, request: pytest.FixtureRequest) -> str:
    """It holds nothing of other tests."""
    return f"{server_url}?prefix={abs(hash(request.node.nodeid))}"
