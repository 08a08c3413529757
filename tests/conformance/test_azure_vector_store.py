"""An application that keeps vectors in FAISS retrieves what the scenario declares."""

from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conformance.conftest import LiveWith
from tests.http_client import Running
from tests.untyped_json import JSON

pytestmark = pytest.mark.slow

faiss = pytest.importorskip("faiss")
openai = pytest.importorskip("openai")
inference = pytest.importorskip("azure.ai.inference")
credentials = pytest.importorskip("azure.core.credentials")

CLIENT = "faiss-cpu"

MODEL, WITH_INT8 = "text-embedding-3-small", "embed-english-v3.0"
SCENARIO = """
version: 1
name: retrieval
deployments:
  - vendor: azure
    name: text-embedding-3-small
    task: embeddings
    embeddings:
      geometry: declared
      texts:
        refund: You get a refund within 30 days.
        password: Reset your password in the settings.
        invoice: Invoices are sent on the first of a month.
        tides: The tides follow the moon.
      clusters: {account: [password], money: [refund, invoice]}
      near: [{a: refund, b: I want my money back, cosine: 0.91}]
      query:
        - {text: How do I pay?, ranks: [invoice, refund]}
        - {pattern: '(?i)log ?in|password', ranks: [password, tides]}
"""
DOCUMENTS = {
    "refund": "You get a refund within 30 days.",
    "password": "Reset your password in the settings.",
    "invoice": "Invoices are sent on the first of a month.",
    "tides": "The tides follow the moon.",
}
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


class Store:
    """Documents by inner product, as an application keeps them."""

    def __init__(self, embed: Embed) -> None:
        self.embed = embed
        vectors = embed([*DOCUMENTS.values()])
        self.index = faiss.IndexFlatIP(vectors.shape[1])
        self.index.add(vectors)

    def search(self, query: str, count: int) -> list[tuple[str, float]]:
        scores, places = self.index.search(self.embed([query]), count)
        names = [*DOCUMENTS]
        return [(names[place], float(score)) for place, score in zip(places[0], scores[0], strict=True)]


@contextmanager
def embed_with_openai(running: Running, **fields: JSON) -> Iterator[Embed]:
    url = running.urls["azure"] + "/openai/v1"
    with openai.OpenAI(base_url=url, api_key=running.key("k"), max_retries=0) as client:

        def embed(texts: Sequence[str]) -> NDArray[np.float32]:
            answer = client.embeddings.create(model=MODEL, input=[*texts], **fields)  # in base64, by its default
            return np.array([item.embedding for item in answer.data], dtype=np.float32)

        yield embed


@contextmanager
def embed_with_inference(running: Running, model: str = MODEL, **fields: JSON) -> Iterator[Embed]:
    key = credentials.AzureKeyCredential(running.key("k"))
    with inference.EmbeddingsClient(running.urls["azure"], key, model=model) as client:

        def embed(texts: Sequence[str]) -> NDArray[np.float32]:
            rows = [item.embedding for item in client.embed(input=[*texts], **fields).data]
            read = [np.frombuffer(b64decode(row), dtype="<f4") if isinstance(row, str) else row for row in rows]
            vectors = np.array(read, dtype=np.float32)
            faiss.normalize_L2(vectors)
            return vectors

        yield embed


@pytest.mark.parametrize(
    ("connect", "fields", "slack"),
    [
        pytest.param(embed_with_openai, {}, 1e-3, id="openai"),
        pytest.param(embed_with_openai, {"encoding_format": "float"}, 1e-3, id="openai, float"),
        pytest.param(embed_with_openai, {"dimensions": 256}, 1e-3, id="openai, shortened"),
        pytest.param(embed_with_inference, {}, 1e-3, id="azure-ai-inference"),
        pytest.param(embed_with_inference, {"encoding_format": "base64"}, 1e-3, id="azure-ai-inference, base64"),
        pytest.param(
            embed_with_inference, {"encoding_format": "int8", "model": WITH_INT8}, 0.01, id="azure-ai-inference, int8"
        ),
        pytest.param(embed_with_inference, {"dimensions": 512}, 1e-3, id="azure-ai-inference, shortened"),
    ],
)
def test_store_retrieves_what_is_declared(
    live_with: LiveWith, connect: Callable[..., JSON], fields: dict[str, JSON], slack: float
) -> None:
    scenario = SCENARIO.replace(MODEL, str(fields.get("model", MODEL)))
    with connect(live_with(scenario), **fields) as embed:
        store = Store(embed)
        assert [name for name, _ in store.search("How do I pay?", 2)] == ["invoice", "refund"]
        assert [name for name, _ in store.search("I can't log in", 2)] == ["password", "tides"]
        ((name, score),) = store.search("I want my money back", 1)
        assert name == "refund"
        assert score == pytest.approx(0.91, abs=slack)
        assert store.search("reset the password in settings", 1)[0][0] == "password"
        assert max(score for _, score in store.search("an essay on medieval bridges", 4)) < 0.35


def test_store_of_words_retrieves_texts_with_the_same_words(live_with: LiveWith) -> None:
    scenario = SCENARIO[: SCENARIO.index("geometry")] + "geometry: lexical\n"
    with embed_with_openai(live_with(scenario)) as embed:
        store = Store(embed)
        assert store.search("resetting a password", 1)[0][0] == "password"
        assert store.search("when are invoices sent", 1)[0][0] == "invoice"
        assert store.search("the moon and its tides", 1)[0][0] == "tides"


@pytest.mark.parametrize("name", ["flat L2", "HNSW", "IVF"])
def test_other_indexes_find_the_same(live_with: LiveWith, name: str) -> None:
    with embed_with_openai(live_with(SCENARIO)) as embed:
        vectors = embed([*DOCUMENTS.values()])
        size = vectors.shape[1]
        if name == "HNSW":
            index = faiss.IndexHNSWFlat(size, 8, faiss.METRIC_INNER_PRODUCT)
        elif name == "IVF":
            index = faiss.IndexIVFFlat(faiss.IndexFlatIP(size), size, 1, faiss.METRIC_INNER_PRODUCT)
            index.train(vectors)
        else:
            index = faiss.IndexFlatL2(size)
        index.add(vectors)
        _, places = index.search(embed(["How do I pay?"]), 2)
        assert [[*DOCUMENTS][place] for place in places[0]] == ["invoice", "refund"]
