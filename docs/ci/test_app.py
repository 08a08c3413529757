"""What your application does when the service is busy. DATABRICKS_HOST says where the service is."""

import os

from openai import OpenAI

MODEL = "databricks-meta-llama-3-3-70b-instruct"


def test_a_busy_service_is_asked_again():
    client = OpenAI(base_url=f"{os.environ['DATABRICKS_HOST']}/serving-endpoints", api_key="any")
    answer = client.chat.completions.with_raw_response.create(
        model=MODEL, messages=[{"role": "user", "content": "How often do tides come?"}]
    )
    assert answer.parse().choices[0].message.content
    assert answer.retries_taken == 1
