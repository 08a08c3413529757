"""Cohere's rerank routes (``…/v1/rerank``, ``…/v2/rerank``): documents by relevance to a query.

Source: docs.cohere.com, "Rerank API (v1)" and "(v2)"; learn.microsoft.com, "How to deploy Cohere Rerank models".
"""

from typing import Annotated

from pydantic import ConfigDict, Field

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, dump_json
from emulator.core.plan import Plan
from emulator.core.requests import EmbeddingRequest
from emulator.core.rng import draw_uuid
from emulator.core.vendor import WholeCodec
from emulator.protocols.rerank import count_dimensions, score_documents
from emulator.vendors.azure.decoder import Integer, WireModel, validate
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import parse_request
from emulator.vendors.azure.url_kind import Kind

_URL_KINDS: frozenset[Kind] = frozenset({"root", "endpoint", "models"})
_PREFIXES = ("v1", "v2", "providers/cohere/v1", "providers/cohere/v2")
_UNIT = 100  # documents of one billed search


class RerankRequest(WireModel):
    model_config = ConfigDict(strict=True)

    query: Annotated[str, Field(min_length=1)]
    documents: Annotated[list[str | dict[str, JSON]], Field(min_length=1, max_length=10_000)]
    model: str | None = None
    top_n: Annotated[Integer, Field(ge=1)] | None = None
    return_documents: bool | None = None
    rank_fields: list[str] | None = None
    max_chunks_per_doc: Integer | None = None
    max_tokens_per_doc: Integer | None = None


def parse_rerank(request: Request, service: AzureService) -> InferenceCall:
    """``POST …/v1/rerank`` and ``…/v2/rerank``, which have no dated versions."""
    parsed = parse_request(request, service, "rerank", _URL_KINDS, engine=_PREFIXES)
    wire = validate(RerankRequest, parsed.body)
    texts = tuple([_parse_text(document, wire.rank_fields or ("text",)) for document in wire.documents])
    embedding_request = EmbeddingRequest(inputs=(*texts, wire.query), dimensions=count_dimensions(parsed.deployment))
    return InferenceCall(
        deployment=parsed.deployment,
        request=embedding_request,
        codec=RerankCodec(parsed.profile, wire, texts, parsed.deployment.geometry is None),
        prompt_tokens=service.count_prompt(embedding_request, parsed.deployment),
        repeatable=True,
    )


def _parse_text(document: str | Object, fields: object) -> str:
    if isinstance(document, str):
        return document
    names = fields if isinstance(fields, list | tuple) else ()
    return " ".join([str(document[name]) for name in names if name in document])


@fast_dataclass(frozen=True, slots=True, eq=False)
class RerankCodec(WholeCodec):
    """Codec of the best documents by falling score."""

    profile: DeploymentProfile
    wire: RerankRequest
    texts: tuple[str, ...]
    by_words: bool

    def render(self, plan: Plan, request: Request) -> Response:
        scores = score_documents(plan, self.wire.query, self.texts, by_words=self.by_words)
        order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
        version = "1" if "/v1/" in request.path else "2"
        units = -(-len(self.texts) // _UNIT)
        body: Object = {
            "id": draw_uuid(plan.key, "rerank"),
            "results": [self._build_result(index, scores[index]) for index in order[: self.wire.top_n]],
            "meta": {"api_version": {"version": version}, "billed_units": {"search_units": units}},
        }
        return Response(200, dump_json(body), answer_headers(plan, request, self.profile))

    def _build_result(self, index: int, score: float) -> Object:
        shape: Object = {"index": index, "relevance_score": round(score, 7)}
        if self.wire.return_documents:
            document = self.wire.documents[index]
            shape["document"] = {"text": document} if isinstance(document, str) else document
        return shape
