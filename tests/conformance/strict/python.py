"""Make the calls of a plan with the clients for Python, and compare what they parsed with their own models.

The clients construct models of any answer, so each field is compared with its model here. As a program the module reads
the plan on its input and prints the JSON of each call.
"""

import io
import json
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import anthropic
import openai
from anthropic.types import ErrorResponse
from openai.types.shared import ErrorObject
from pydantic import BaseModel, TypeAdapter, ValidationError

from tests.untyped_json import JSON

_OWNERS = {"vector_stores": "vector_store_id", "conversations": "conversation_id"}
Finding = tuple[str, str]


def walk(value: object, place: str = "") -> Iterator[Finding]:
    """Yield where a parsed value deviates from its model, at any depth."""
    if isinstance(value, BaseModel):
        yield from ((f"{place}.{name}", "unknown") for name in value.model_extra or {})
        yield from _walk_fields(value, place)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from walk(each, f"{place}[]")
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from walk(each, f"{place}.{name}")


def _walk_fields(value: BaseModel, place: str) -> Iterator[Finding]:
    for name, field in type(value).model_fields.items():
        inner, where = getattr(value, name, None), f"{place}.{field.alias or name}"
        if name not in value.model_fields_set:
            if field.is_required():
                yield where, "missing"
        elif _has_models(inner):
            yield from walk(inner, where)
        elif not _fits(inner, type(value), name):
            yield where, "null" if inner is None else "misfit"


def _has_models(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_models, value.values()))
    return isinstance(value, BaseModel) or (isinstance(value, list) and any(map(_has_models, value)))


def _fits(value: object, model: type[BaseModel], name: str) -> bool:
    """Return whether a field allows a value without models."""
    try:
        _adapt(model, name).validate_python(value)
    except ValidationError:
        return False
    return True


@cache
def _adapt(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    annotation: Any = model.model_fields[name].annotation
    return TypeAdapter(annotation)


def connect(target: JSON) -> JSON:
    """Return the client of a target."""
    shared = {"api_key": target["key"], "default_headers": target["headers"], "max_retries": 0}
    if target["client"] == "anthropic":
        return anthropic.Anthropic(base_url=target["url"], **shared)
    if target["client"] == "azure":
        return openai.AzureOpenAI(azure_endpoint=target["url"], api_version=target["api_version"], **shared)
    return openai.OpenAI(base_url=target["url"], **shared)


def call(client: JSON, request: JSON) -> list[JSON]:
    """Return the answers, or the events of one, of a call."""
    *path, last = request["call"].rstrip("*").split(".")
    service = client
    for name in path:
        service = getattr(service, name)
    fields, args = _build_fields(request), request["args"]
    if len(args) == 2:
        fields[_OWNERS[path[0]]], *args = args
    answer = getattr(service, last)(*args, **fields)
    if hasattr(answer, "_get_page_items"):
        return list(answer._get_page_items())
    if request["call"].endswith(("*", ".results")):
        return list(answer)
    if hasattr(answer, "read"):
        return [None] if answer.read() else []
    return [answer]


def _build_fields(request: JSON) -> dict[str, Any]:
    fields = dict(request.get("body", {}))
    if "colour" in fields:  # no parameter
        fields["extra_body"] = {"colour": fields.pop("colour")}
    if file := request.get("file"):
        fields[file["field"]] = (file["name"], io.BytesIO(b64decode(file["base64"])), file["type"])
    if fields.get("stream"):
        fields["stream"] = True
    return fields


def make(client: JSON, request: JSON) -> tuple[list[JSON], list[Finding], str]:
    """Return the answers of a call, where they deviate, and why it failed."""
    status = request.get("status", 0)
    try:
        answers = call(client, request)
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        if error.status_code != status:
            return [], [], str(error)
        if not isinstance(error.body, dict):
            return [error.body], [(".", "misfit")], ""
        wanted: JSON = ErrorObject if isinstance(error, openai.APIStatusError) else ErrorResponse
        answer = wanted.construct(**error.body)
        return [answer], list(walk(answer)), ""
    except Exception as error:
        return [], [], f"{type(error).__name__}: {error}"
    found = [finding for answer in answers for finding in walk(answer)]
    return answers, found, f"no status {status}" if status else ""


def pick(answer: JSON, path: str) -> str:
    """Return the text at a path of an answer."""
    value = answer.to_dict()
    for name in path.split("."):
        value = value[int(name)] if isinstance(value, list) else value[name]
    return str(value)


def run(target: JSON) -> Iterator[JSON]:
    client, saved = connect(target), dict[str, str]()
    for raw in target["calls"]:
        request = fill(raw, saved)
        answers, found, failed = make(client, request)
        if answers and not failed:
            saved |= {name: pick(answers[0], path) for name, path in request.get("save", {}).items()}
        places = [{"place": place or ".", "kind": kind} for place, kind in found]
        said = {"target": target["name"], "call": request["call"], "name": request["name"], "answers": len(answers)}
        yield {**said, "found": places, "failed": failed}


def fill(raw: JSON, saved: Mapping[str, str]) -> JSON:
    """Return a call with what earlier answers gave."""
    text = json.dumps(raw)
    for name, value in saved.items():
        text = text.replace(f"{{{name}}}", value)
    return json.loads(text)


if __name__ == "__main__":
    for one in json.load(sys.stdin)["targets"]:
        for said in run(one):
            print(json.dumps(said), flush=True)
