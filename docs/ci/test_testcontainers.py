"""A container for each test session; Testcontainers waits until it is ready and removes it."""

from pathlib import Path

import pytest
from openai import OpenAI
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy

from emulator.client import EmulatorClient

IMAGE = "ghcr.io/llm-emulator/llm-emulator:0.1.0"
MODEL = "databricks-meta-llama-3-3-70b-instruct"
SCENARIOS = Path(__file__).parent / "scenarios"


@pytest.fixture(scope="session")
def front():
    container = DockerContainer(IMAGE).with_exposed_ports(4010)
    container.with_volume_mapping(str(SCENARIOS), "/scenarios", "ro")
    container.waiting_for(HttpWaitStrategy(4010, "/_emulator/ready"))
    with container:
        yield f"http://{container.get_container_host_ip()}:{container.get_exposed_port(4010)}"


def test_a_busy_service_is_asked_again(front):
    with EmulatorClient(front) as emulator:
        client = OpenAI(base_url=f"{emulator.url('databricks')}/serving-endpoints", api_key="any")
        answer = client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "How often do tides come?"}]
        )
        assert answer.choices[0].message.content
        emulator.assert_order([{"status": 429}, {"attempt": 2, "status": 200}])
