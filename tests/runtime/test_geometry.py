"""Vectors with a meaning, as clients of each vendor receive them."""

import base64
import hashlib
import struct

import pytest

from emulator.runtime.services import check_vendors
from emulator.scenario.load import load_text
from emulator.scenario.parsed import ScenarioError
from emulator.vendors import VENDORS
from tests.conftest import Start

DECLARED = """
      geometry: declared
      texts: {pay: How do I pay?}
      clusters: {animals: [cat, kitten, dog], vehicles: [car, lorry]}
      near: [{a: cat, b: dog, cosine: 0.83}]
      query: [{text: a pet, ranks: [dog, cat]}, {pattern: '(?i)money', ranks: [pay]}]
"""
SCENARIO = """
version: 1
name: vectors
clock: instant
deployments:
  - vendor: %s
    name: %s
    task: %s
    dimensions: 256
    embeddings: %s
"""


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("vendor", "name", "target", "headers"),
    [
        ("azure", "mine", "/embeddings?api-version=2024-05-01-preview", {"api-key": "k"}),
        ("databricks", "mine", "/serving-endpoints/mine/invocations", {"Authorization": "Bearer k"}),
        ("openvino", "mine", "/v3/embeddings", {}),
    ],
)
async def test_clients_receive_declared_cosines(
    start: Start, vendor: str, name: str, target: str, headers: dict[str, str]
) -> None:
    running = await start(SCENARIO % (vendor, name, "embeddings", f"\n{DECLARED}"))
    body = {"model": name, "input": ["cat", "dog", "a pet", "lorry", "I need money", "How do I pay?", "kitten"]}
    found = {}
    for encoding in ("float", "base64"):
        answer = await running.ask(vendor, target, {**body, "encoding_format": encoding}, headers=headers)
        rows = [item["embedding"] for item in answer.json()["data"]]
        found[encoding] = [
            row if isinstance(row, list) else list(struct.unpack("<256f", base64.b64decode(row))) for row in rows
        ]
    cat, dog, pet, lorry, money, pay, kitten = found["float"]
    assert found["base64"] == [pytest.approx(row, abs=1e-7) for row in found["float"]]
    assert cosine(cat, dog) == pytest.approx(0.83, abs=1e-3)
    assert cosine(pet, dog) > cosine(pet, cat) > cosine(pet, kitten) > cosine(pet, lorry)
    assert cosine(money, pay) > 0.5 > cosine(money, cat)


async def test_images_take_part_by_digest_and_by_address(start: Start) -> None:
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 60)
    digest = hashlib.sha256(base64.b64decode(picture)).hexdigest()
    captions = f"\n{DECLARED}      captions: {{{digest}: cat, 'https://host/2.png': dog}}"
    running = await start(SCENARIO % ("azure", "cohere-embed-v-4-0", "embeddings", captions))
    inputs = [{"image": f"data:image/png;base64,{picture.decode()}"}, {"image": "https://host/2.png"}]
    body = {"model": "cohere-embed-v-4-0", "input": inputs}
    version, headers = "?api-version=2024-05-01-preview", {"api-key": "k"}
    images = (await running.ask("azure", f"/images/embeddings{version}", body, headers=headers)).json()["data"]
    body["input"] = ["cat", "dog"]
    texts = (await running.ask("azure", f"/embeddings{version}", body, headers=headers)).json()["data"]
    cosines = [cosine(image["embedding"], text["embedding"]) for image in images for text in texts]
    assert cosines == pytest.approx([1.0, 0.83, 0.83, 1.0], abs=1e-3)


@pytest.mark.parametrize(
    ("vendor", "target", "headers"),
    [("azure", "/v1/rerank", {"api-key": "k"}), ("openvino", "/v3/rerank", {})],
)
@pytest.mark.parametrize("geometry", ["declared", "lexical"])
async def test_rerank_agrees_with_geometry(
    start: Start, geometry: str, vendor: str, target: str, headers: dict[str, str]
) -> None:
    given = f"\n{DECLARED}" if geometry == "declared" else "{geometry: lexical}"
    running = await start(SCENARIO % (vendor, "mine", "rerank", given))
    documents = ["lorry", "cat", "dog"] if geometry == "declared" else ["the tides", "hot dogs", "a pet shop with pets"]
    body = {"model": "mine", "query": "a pet", "documents": documents}
    answer = await running.ask(vendor, target, body, headers=headers)
    order = [result["index"] for result in answer.json()["results"]]
    assert order[0] == 2
    assert order == [2, 1, 0] or geometry == "lexical"


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        pytest.param(
            "{geometry: declared, near: [{a: x, b: y, cosine: .9}, {a: y, b: z, cosine: .9}, {a: x, b: z, cosine: 0}]}",
            "no vectors have all of these: near 'x', 'y': 0.9; near 'y', 'z': 0.9; near 'x', 'z': 0",
            id="a triangle",
        ),
        pytest.param(
            f"{{geometry: declared, clusters: {{a: {[f't{n}' for n in range(300)]}}}}}",
            "300 texts are declared, which takes more than 256 dimensions",
            id="more texts than dimensions",
        ),
        pytest.param(
            f"{{geometry: declared, clusters: {{a: {[f't{n}' for n in range(600)]}}}}}",
            "600 texts are declared; at most 512 are arranged",
            id="too many texts",
        ),
    ],
)
def test_impossible_relations_are_mistakes(embeddings: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        check_vendors(load_text(SCENARIO % ("azure", "mine", "embeddings", embeddings)), VENDORS)
    assert [row.message for row in caught.value.rows] == [message]
