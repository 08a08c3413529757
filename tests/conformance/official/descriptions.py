"""Official descriptions of a folder, and which of them holds for a URL.

A description is found by the name of its file, ``.json`` or ``.yaml``; each is optional:

``openapi``: OpenAI. ``azure-openai-VERSION``: Azure OpenAI, one for each ``api-version`` and one for ``v1``.
``azure-inference…``: Azure Model Inference. ``openresponses``: Open Responses. ``gemini…``: Gemini API. ``aiplatform``:
its discovery document for Vertex. ``cohere``, ``tgi``, ``kserve…``.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs

import yaml

from tests.conformance.official.walk import Description
from tests.untyped_json import JSON

_DATED = re.compile(r"azure-(openai|inference)-(?P<version>\d{4}-.*)")
_SESSION = re.compile(r"(/s/[^/]+)?(?P<vendor>/(azure|databricks|mindie|openvino|tgi)(?=/|$))?(?P<path>/[^?]*|$)")


@dataclass(frozen=True, slots=True)
class Surface:
    """URLs for which a description holds.

    Fields:
        files: pattern of the names of its files.
        vendor: pattern.
        path: pattern with a group ``route``.
        prefix: what the description has before that route.
    """

    files: str
    vendor: str
    path: str
    prefix: str = ""


SURFACES = (
    Surface("openapi", "azure", r"(/api/projects/[^/]+)?/openai(/v1|/deployments/[^/]+)?(?P<route>/.*)"),
    Surface("openapi", "databricks", r"/serving-endpoints(/v1)?(?P<route>/responses)"),
    Surface("openresponses", "azure", r"(/api/projects/[^/]+)?/openai(/v1)?(?P<route>/responses(/compact)?)"),
    Surface("openresponses", "databricks|openvino", r"/(serving-endpoints|v3)(/v1)?(?P<route>/responses)"),
    Surface(r"azure-openai-\d.*", "azure", r"/openai(?P<route>/(?!v1/).*)"),
    Surface("azure-openai-v1", "azure", r"(/api/projects/[^/]+)?/openai/v1(?P<route>/.*)"),
    Surface("azure-inference.*", "azure", r"(/models|/endpoints/[^/]+)?(?P<route>/(chat/|(images/)?embed|info).*)"),
    Surface("cohere", "azure", r".*(?P<route>/v[12]/rerank)"),
    Surface("cohere", "openvino", r"/v3(/v1)?(?P<route>/rerank)", "/v1"),
    Surface("tgi", "tgi", r"(?P<route>/.*)"),
    Surface("kserve.*", "openvino|mindie", r"(?P<route>/v2(/.*)?)"),
    Surface("gemini.*|aiplatform", "databricks", r".*/gemini(?P<route>/v1beta/models/.*)"),
)
_STREAMS = {
    "/deployments/{deployment-id}/chat/completions": "createChatCompletionStreamResponse",
    "/chat/completions": "StreamingChatCompletionsUpdate",
}
"""Schemas of streams that descriptions have, though not with their operations."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of one description; ``label`` names the description's file."""

    label: str
    vendor: str
    description: Description
    path: str
    value: JSON

    def find_answer(self, status: int, media_type: str) -> JSON | None:
        """Return the schema of an answer, or of each event of a stream, if the description has one."""
        whole = self.path.replace(":streamGenerate", ":generate")
        if whole != self.path:  # Gemini's streams are whole answers: an array, or one an event
            each = Operation(self.label, self.vendor, self.description, whole, self.description.paths[whole]["post"])
            schema = each.find_answer(status, "application/json")
            is_array = media_type == "application/json" and status < 400
            return {"type": "array", "items": schema} if is_array else schema
        answers = self.value.get("responses", {})
        answer = answers.get(str(status)) or (answers.get("default") if status >= 400 else None) or {}
        content = {"application/json": answer} if "schema" in answer else answer.get("content", {})
        name = _STREAMS.get(self.path)
        if media_type == "text/event-stream" and media_type not in content and name in self.description.schemas:
            return {"$ref": f"#/{name}"}
        return content.get(media_type, {}).get("schema")

    def find_request(self) -> JSON | None:
        """Return the schema of the request's JSON body."""
        for parameter in self.value.get("parameters", ()):
            if parameter.get("in") == "body":
                return parameter["schema"]
        return self.value.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")


class Folder:
    """Descriptions by the names of their files."""

    def __init__(self, folder: Path) -> None:
        self.descriptions: dict[str, Description] = {}
        for path in sorted(folder.iterdir()):
            if path.suffix in (".json", ".yaml") and any(re.fullmatch(one.files, path.stem) for one in SURFACES):
                self.descriptions[path.stem] = Description(_load(path))
        self._found: dict[tuple[str, str, str], list[Operation]] = {}

    def find(self, vendor: str, method: str, target: str) -> list[Operation]:
        """Return the operations that descriptions have for a URL."""
        key = (vendor, method, target)
        if key not in self._found:
            self._found[key] = [*self._find(vendor, method.lower(), target)]
        return self._found[key]

    def _find(self, vendor: str, method: str, target: str) -> Iterator[Operation]:
        address = _SESSION.match(target)
        assert address is not None, target
        vendor = (address["vendor"] or f"/{vendor}")[1:]
        version = parse_qs(target.partition("?")[2]).get("api-version", [""])[0]
        for surface in SURFACES:
            path = re.fullmatch(surface.path, address["path"]) if re.fullmatch(surface.vendor, vendor) else None
            for name in self._list_names(surface, version) if path is not None else ():
                assert path is not None
                description = self.descriptions[name]
                for template in description.paths:
                    operations = description.paths[template]
                    if method in operations and matches(template, surface.prefix + path["route"]):
                        yield Operation(name, vendor, description, template, operations[method])

    def _list_names(self, surface: Surface, version: str) -> Iterator[str]:
        """Yield the descriptions of a surface; of dated ones the newest that the version includes, else the oldest."""
        names = [name for name in self.descriptions if re.fullmatch(surface.files, name)]
        dated = {match["version"]: name for name in names if (match := _DATED.fullmatch(name))}
        yield from (name for name in names if name not in dated.values())
        if dated:
            yield dated[max((one for one in dated if one[:10] <= version[:10]), default=min(dated))]


def matches(template: str, route: str) -> bool:
    """Return whether a route fits a path of a description; the version of a model may be absent."""
    pattern = (
        re.escape(template).replace(r"\$", "").replace(re.escape("/versions/{MODEL_VERSION}"), "(/versions/[^/]+)?")
    )
    return re.fullmatch(
        re.sub(r"\\\{[^}]*\\\}", "[^/:]+", pattern).rstrip("/"), route.rstrip("/") or "/"
    ) is not None or (template == route)


def _load(path: Path) -> JSON:
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader=yaml.CSafeLoader)
