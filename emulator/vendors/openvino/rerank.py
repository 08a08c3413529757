"""Parse ``/v3/rerank`` requests, and render documents in order of relevance.

Source: model_server, src/rerank/rerank_api.cpp and rerank_calculator.cc.
"""

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Headers, Request, Response
from emulator.core.json import Object
from emulator.core.plan import Plan
from emulator.core.requests import EmbeddingRequest
from emulator.core.vendor import WholeCodec
from emulator.encoding.floats import format_float
from emulator.protocols.rerank import count_dimensions, score_documents
from emulator.vendors.openvino.decoder import is_int32, promote, quote_long
from emulator.vendors.openvino.errors import refusal
from emulator.vendors.openvino.request import ParsedRequest


@fast_dataclass(frozen=True, slots=True)
class RerankCodec(WholeCodec):
    """Codec of the ``top`` most relevant documents, by descending score, optionally with their texts."""

    headers: Headers
    query: str
    documents: tuple[str, ...]
    top: int
    with_documents: bool
    by_words: bool

    def render(self, plan: Plan, request: Request) -> Response:
        scores = self._compute_scores(plan)
        order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
        results = [
            b'{"index":%d,"relevance_score":%b%b}'
            % (
                index,
                format_float(scores[index]).encode(),
                b',"document":{"text":%b}' % quote_long(self.documents[index]) if self.with_documents else b"",
            )
            for index in order[: self.top]
        ]
        return Response(200, b'{"results":[%b]}' % b",".join(results), self.headers)

    def _compute_scores(self, plan: Plan) -> list[float]:
        """Return a score per document: float32, 0 to 1."""
        return [promote(score) for score in score_documents(plan, self.query, self.documents, by_words=self.by_words)]


def parse_rerank(parsed: ParsedRequest) -> InferenceCall:
    """Parse a query and documents, on any path."""
    body = parsed.body
    if "query" not in body:
        raise refusal("query field is missing in request")
    query = body["query"]
    if not isinstance(query, str):
        raise refusal("query is not a string")
    documents, are_maps = _parse_documents(body)
    top = body.get("top_n")
    if top is not None and not is_int32(top):
        raise refusal("top_n accepts integer values")
    _validate_fields(body)
    with_documents = _parse_flag(body)
    chunks = body.get("max_chunks_per_doc")
    if chunks is not None and not is_int32(chunks):
        raise refusal("max_chunks_per_doc accepts integer values")
    if are_maps and with_documents:
        raise refusal("document map not supported")
    limit = parsed.profile.max_allowed_chunks
    if len(documents) > limit:
        raise refusal("Number of documents exceeds max_allowed_chunks", word="INTERNAL")
    embedding = EmbeddingRequest(inputs=(*documents, query), dimensions=count_dimensions(parsed.deployment))
    counted = parsed.service.count_prompt(embedding, parsed.deployment)
    _validate_chunks(parsed, counted, limit)
    by_words = parsed.deployment.geometry is None
    top_n = len(documents) if top is None or top < 0 else top  # the server compares it as an unsigned number
    return InferenceCall(
        deployment=parsed.deployment,
        request=embedding,
        codec=RerankCodec(parsed.settings.json_headers, query, documents, top_n, with_documents, by_words),
        prompt_tokens=counted,
        served=parsed.method,
        repeatable=True,
    )


def _validate_chunks(parsed: ParsedRequest, counted: tuple[int, ...], limit: int) -> None:
    """Raise for too many chunks; a document is split at the model's length less the query's."""
    length = parsed.deployment.context
    if length is None:
        return
    chunk_size = max(1, length - counted[-1])
    chunks = sum(-(-count // chunk_size) for count in counted[:-1])
    if chunks > limit:
        reason = f"Chunking failed: exceeding max_allowed_chunks after chunking limit: {limit}; actual: {chunks}"
        raise refusal(reason, word="INTERNAL")


def _parse_documents(body: Object) -> tuple[tuple[str, ...], bool]:
    """Return the texts of the documents, and whether they are objects."""
    if "documents" not in body:
        raise refusal("documents field is missing in request")
    documents = body["documents"]
    if not isinstance(documents, list):
        raise refusal("documents is not an array")
    texts: list[str] = []
    maps: set[bool] = set()
    for document in documents:
        if not isinstance(document, str | dict):
            raise refusal("documents array element is neither string nor object")
        maps.add(isinstance(document, dict))
        if len(maps) > 1:
            raise refusal("all documents have to be the same type (string or objects)")
        texts.append(document if isinstance(document, str) else _parse_map(document))
    return tuple(texts), True in maps


def _parse_map(document: Object) -> str:
    for name in ("title", "text"):
        if name not in document:
            raise refusal(f"document {name} field is missing")
        if not isinstance(document[name], str):
            raise refusal(f"document {name} field have to be string")
    return f"{document['title']} {document['text']}"


def _parse_flag(body: Object) -> bool:
    value = body.get("return_documents")
    if value is not None and not isinstance(value, bool):
        raise refusal("return_documents accepts boolean values")
    return value is True


def _validate_fields(body: Object) -> None:
    """Raise if ``rank_fields`` is invalid; the value has no effect."""
    fields = body.get("rank_fields")
    if fields is None:
        return
    if not isinstance(fields, list):
        raise refusal("rank_fields is not an array")
    if not all(isinstance(name, str) for name in fields):
        raise refusal("rank_fields array element is not a string")
