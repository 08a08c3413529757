"""Requests to a rerank graph: documents in the order of how well they fit a query.

Source: model_server, src/rerank/rerank_api.cpp and rerank_calculator.cc.
"""

from __future__ import annotations

from emulator.core.call import EmbeddingAsk
from emulator.core.json import JSON
from emulator.core.plan import Plan
from emulator.core.record import record
from emulator.core.vendor import Call, Service
from emulator.core.wire import WireResponse, WireStream
from emulator.dialects.floats import format_float
from emulator.vendors.openvino.decoder import quote_long
from emulator.vendors.openvino.errors import refuse
from emulator.vendors.openvino.numbers import is_int32
from emulator.vendors.openvino.request import Accepted
from emulator.vendors.openvino.settings import OpenVinoSettings
from emulator.vendors.openvino.text.logprobs import promote

_DIMENSIONS = 16  # of the vectors that tell documents apart that share as many words with the query


@record(frozen=True, slots=True)
class Ranking:
    """What the codec wants to know: the best ``top`` documents, with their texts or not."""

    query: str
    documents: tuple[str, ...]
    top: int
    with_documents: bool


class RerankCodec:
    """Results by falling score. It never streams."""

    def render(self, plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireResponse:
        ranking: Ranking = call.context
        scores = _score(ranking, plan)
        order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
        results = [
            b'{"index":%d,"relevance_score":%b%b}'
            % (
                index,
                format_float(scores[index]).encode(),
                b',"document":{"text":%b}' % quote_long(ranking.documents[index]) if ranking.with_documents else b"",
            )
            for index in order[: ranking.top]
        ]
        return WireResponse(200, b'{"results":[%b]}' % b",".join(results), service.settings.json_headers)

    def stream(self, plan: Plan, call: Call, service: Service[OpenVinoSettings, None]) -> WireStream:
        response = self.render(plan, call, service)
        return WireStream(iter([(plan.due, response.body)]), response.headers)


RERANK = RerankCodec()


def _score(ranking: Ranking, plan: Plan) -> list[float]:
    """A float32 in 0…1 per document: shared words first, then what the vectors say.

    The last vector is the query's. Only correctly rounded operations: every machine gives the same bits.
    """
    if plan.vectors is None:
        return [0.0] * len(ranking.documents)
    rows: list[list[float]] = plan.vectors.tolist()
    query = rows[-1]
    words = set(ranking.query.lower().split())
    scores = []
    for row, text in zip(rows, ranking.documents, strict=False):
        found = words & set(text.lower().split())
        likeness = sum(a * b for a, b in zip(query, row, strict=True))
        weight = 8.0 * (len(found) / len(words) if words else 0.0) + 2.0 * likeness - 3.0
        scores.append(promote(0.5 + 0.5 * weight / (1.0 + abs(weight))))
    return scores


def parse_rerank(accepted: Accepted) -> Call:
    """A query and documents, on whatever path they come.

    Raises:
        EmulatedError: the first check that fails, in the server's order.
    """
    body = accepted.body
    if "query" not in body:
        refuse("query field is missing in request")
    query = body["query"]
    if not isinstance(query, str):
        refuse("query is not a string")
    documents, are_maps = _read_documents(body)
    top = body.get("top_n")
    if top is not None and not is_int32(top):
        refuse("top_n accepts integer values")
    _check_fields(body)
    with_documents = _read_flag(body)
    if not is_int32(body.get("max_chunks_per_doc", 1)):
        refuse("max_chunks_per_doc accepts integer values")
    if are_maps and with_documents:
        refuse("document map not supported")
    limit = accepted.deployment.traits.get("max_allowed_chunks", accepted.settings.max_allowed_chunks)
    if len(documents) > limit:
        refuse("Number of documents exceeds max_allowed_chunks", word="INTERNAL")
    ask = EmbeddingAsk(inputs=(*documents, query), dimensions=_DIMENSIONS)
    counted = accepted.service.count_prompt(ask, accepted.deployment)
    _check_chunks(accepted, counted, limit)
    shown = len(documents) if top is None else max(0, top)
    return Call(
        request=accepted.request,
        deployment=accepted.deployment,
        ask=ask,
        codec=RERANK,
        prompt_tokens=counted,
        context=Ranking(query, documents, shown, with_documents),
        repeatable=True,
    )


def _check_chunks(accepted: Accepted, counted: tuple[int, ...], limit: int) -> None:
    """Documents longer than the model's length beside the query are read in chunks of it."""
    length = accepted.deployment.context
    if length is None:
        return
    room = max(1, length - counted[-1])
    chunks = sum(-(-count // room) for count in counted[:-1])
    if chunks > limit:
        reason = f"Chunking failed: exceeding max_allowed_chunks after chunking limit: {limit}; actual: {chunks}"
        refuse(reason, word="INTERNAL")


def _read_documents(body: dict[str, JSON]) -> tuple[tuple[str, ...], bool]:
    """The documents' texts, and whether they came as objects."""
    if "documents" not in body:
        refuse("documents field is missing in request")
    documents = body["documents"]
    if not isinstance(documents, list):
        refuse("documents is not an array")
    texts: list[str] = []
    maps: set[bool] = set()
    for document in documents:
        if not isinstance(document, str | dict):
            refuse("documents array element is neither string nor object")
        maps.add(isinstance(document, dict))
        if len(maps) > 1:
            refuse("all documents have to be the same type (string or objects)")
        texts.append(document if isinstance(document, str) else _read_map(document))
    return tuple(texts), True in maps


def _read_map(document: dict[str, JSON]) -> str:
    for name in ("title", "text"):
        if name not in document:
            refuse(f"document {name} field is missing")
        if not isinstance(document[name], str):
            refuse(f"document {name} field have to be string")
    return f"{document['title']} {document['text']}"


def _read_flag(body: dict[str, JSON]) -> bool:
    value = body.get("return_documents")
    if value is not None and not isinstance(value, bool):
        refuse("return_documents accepts boolean values")
    return value is True


def _check_fields(body: dict[str, JSON]) -> None:
    """Checked, and then without effect."""
    fields = body.get("rank_fields", [])
    if not isinstance(fields, list):
        refuse("rank_fields is not an array")
    if not all(isinstance(name, str) for name in fields):
        refuse("rank_fields array element is not a string")
