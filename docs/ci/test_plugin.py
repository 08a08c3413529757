"""The same without a container: the fixture starts the emulator and shows what was sent."""

import pytest
from openai import OpenAI

MODEL = "databricks-meta-llama-3-3-70b-instruct"


@pytest.mark.emulator("scenarios/busy.yaml")
def test_a_busy_service_is_asked_again(emulator):
    client = OpenAI(base_url=f"{emulator.url('databricks')}/serving-endpoints", api_key="any")
    answer = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "How often do tides come?"}]
    )
    assert answer.choices[0].message.content
    emulator.assert_order([{"status": 429}, {"attempt": 2, "status": 200}])
