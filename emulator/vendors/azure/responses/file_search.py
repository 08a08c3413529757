"""Hosted tool ``file_search`` of Responses: search vector stores for the user's last message, and answer from the hits.

The service's model decides whether to search and for what; here each request that ends with a message of the user
searches once. Sources: openai/openai-openapi, ``FileSearchTool``; learn.microsoft.com, "Azure OpenAI Responses API".
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import ConfigDict, Field

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object, as_array
from emulator.core.requests import ChatRequest
from emulator.protocols.openai.responses import Citation
from emulator.vendors.azure.decoder import Integer, WireModel, validate
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.request import ParsedRequest
from emulator.vendors.azure.responses.models import ResponseRequest
from emulator.vendors.azure.vector_stores.search import Hit, Source, find_hits, pick_sentence
from emulator.vendors.azure.vector_stores.stores import Ranking, list_sources, look_up

TOOL_TYPE = "file_search"
_RESULTS = "file_search_call.results"
_MAX_PASSAGES = 3


class FileSearch(WireModel):
    """Tool ``file_search``."""

    model_config = ConfigDict(strict=True)

    vector_store_ids: Annotated[list[str], Field(min_length=1)]
    max_num_results: Annotated[Integer, Field(ge=1, le=50)] | None = None
    filters: dict[str, JSON] | None = None
    ranking_options: Ranking | None = None


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileSearchResult:
    """Result of the file search of a request.

    Fields:
        calls: file search calls without their ids.
        tokens: number of tokens of the chunks that the model reads.
        text: the answer; ``None``: nothing was found.
    """

    calls: Sequence[Object] = ()
    citations: Sequence[Citation] = ()
    tokens: int = 0
    text: str | None = None


NO_SEARCH = FileSearchResult()


def search_files(wire: ResponseRequest, parsed: ParsedRequest, chat: ChatRequest) -> FileSearchResult:
    """Search the vector stores of a request's tools.

    Raises:
        EmulatedError: an invalid tool, 404 for an unknown store.
    """
    tools = [
        (position, validate(FileSearch, tool, ("tools", position)))
        for position, tool in enumerate(wire.tools or ())
        if tool.get("type") == TOOL_TYPE
    ]
    if not tools:
        return NO_SEARCH
    found = [(tool, _list_sources(tool, parsed)) for _, tool in tools]
    query = chat.prompt or ""
    if not query or chat.messages[-1].role != "user" or not _is_chosen(wire.tool_choice):
        return NO_SEARCH
    hits: list[Hit] = []
    for tool, sources in found:
        threshold = tool.ranking_options.score_threshold if tool.ranking_options else None
        hits += find_hits(sources, [query], tool.max_num_results or 20, threshold or 0.0, tool.filters)
    return _build(query, hits, wire, parsed, chat)


def _is_chosen(choice: str | Object | None) -> bool:
    """Return whether ``tool_choice`` lets the model search."""
    if not isinstance(choice, dict):
        return choice != "none"
    if choice.get("type") == "allowed_tools":
        return any(isinstance(tool, dict) and tool.get("type") == TOOL_TYPE for tool in as_array(choice["tools"]))
    return choice.get("type") == TOOL_TYPE


def _list_sources(tool: FileSearch, parsed: ParsedRequest) -> list[Source]:
    sources: list[Source] = []
    for name in tool.vector_store_ids:
        document = look_up(parsed.request.documents, name, parsed.request, parsed.service)
        if document is not None:
            sources += list_sources(document, parsed.request, parsed.service)
        elif parsed.settings.hosted_tools == "refuse":
            raise refusals.not_found(f"Vector store with id ['{name}'] not found.", "tools")
    return sources


def _build(
    query: str, hits: Sequence[Hit], wire: ResponseRequest, parsed: ParsedRequest, chat: ChatRequest
) -> FileSearchResult:
    listed: list[JSON] = [_build_result(hit) for hit in hits]
    shown = _RESULTS in (wire.include or ())
    call: Object = {"status": "completed", "queries": [query], "results": listed if shown else None}
    passages = {pick_sentence(hit.text, query): hit for hit in reversed(hits[:_MAX_PASSAGES])}
    citations = [Citation(text, hit.file, hit.filename) for text, hit in reversed(passages.items()) if text]
    count = parsed.service.tokenizer(parsed.deployment).count
    return FileSearchResult(
        calls=[call],
        citations=citations if chat.format == "text" else (),
        tokens=sum(count(hit.text) for hit in hits),
        text=" ".join(each.passage for each in citations) or None,
    )


def _build_result(hit: Hit) -> Object:
    return {
        "attributes": hit.attributes,
        "file_id": hit.file,
        "filename": hit.filename,
        "score": hit.score,
        "text": hit.text,
    }


def validate_choice(choice: Object, tools: Sequence[Object]) -> None:
    """Raise if ``tool_choice`` names the file search and no tool is one."""
    if choice.get("type") == TOOL_TYPE and all(tool.get("type") != TOOL_TYPE for tool in tools):
        raise refusals.contradicts(f"Tool choice '{TOOL_TYPE}' not found in 'tools' parameter.", "tool_choice")
