"""The fields of the REST reference's completions and embeddings tables, as requests show them."""

from dataclasses import replace

import pytest

from emulator.core.requests import Deployment
from tests.reference_rows import Cases, Piece, check
from tests.untyped_json import JSON
from tests.vendors.databricks.harness import BGE, MPT, Exchange, invoke, refused

SMALL = Deployment(vendor="databricks", name="small", task="completions", context=40, tokenizer="mpt")
PROVISIONED = replace(SMALL, name="pt-small", context=None, mode="provisioned")
LONG = "word " * 60
TWO: JSON = {"name": "pt-small", "prompt": ["one", "two"], "n": 2}


def complete(name: str = MPT, **fields: JSON) -> Exchange:
    body = {"prompt": "Once upon a time", "max_tokens": 3, **fields}
    return invoke(name, body, deployments=(SMALL, PROVISIONED))


def embed(**fields: JSON) -> Exchange:
    return invoke(BGE, {"input": "hello", **fields})


COMPLETIONS: dict[str, Cases] = {
    "completion request.prompt": [
        ({"prompt": "x"}, {"call.request.prompts": ("x",)}),
        ({"prompt": ["x", "y"]}, {"call.request.prompts": ("x", "y"), "body.choices.1.index": 1}),
        ({"prompt": None}, refused("Missing required Completions parameter: 'prompt'")),
    ],
    "completion request.max_tokens": [
        ({"max_tokens": 2}, {"body.usage.completion_tokens": 2}),
        ({"max_tokens": 0}, refused("max_tokens must be greater than 0")),
    ],
    "completion request.stream": [
        ({"stream": True}, {"events.0.object": "text_completion", "events.-1": "[DONE]"}),
        ({"stream": 1}, refused("field 'stream'")),
    ],
    "completion request.temperature": [
        ({"temperature": 0.5}, {"call.request.sampling.parameters": (("temperature", 0.5),)}),
        ({"temperature": 0}, {"call.request.sampling.greedy": True}),
        ({"temperature": 2.1}, refused("temperature must be in [0, 2]")),
    ],
    "completion request.top_p": [
        ({"top_p": 0.5}, {"call.request.sampling.parameters": (("top_p", 0.5),)}),
        ({"top_p": 0}, refused("top_p must be in (0, 1]")),
    ],
    "completion request.top_k": [
        ({"top_k": 5}, {"call.request.sampling.parameters": (("top_k", 5),)}),
        ({"top_k": 1}, {"call.request.sampling.greedy": True}),
        ({"top_k": 0}, refused("top_k must be greater than 0")),
    ],
    "completion request.error_behavior": [
        ({"name": "small", "prompt": LONG, "error_behavior": "truncate"}, {"body.usage.total_tokens": 40}),
        ({"name": "small", "prompt": LONG, "error_behavior": "error"}, refused("cannot exceed 40")),
        ({"error_behavior": "ignore"}, refused('error_behavior must be "truncate" or "error"')),
        ({"name": "pt-small", "error_behavior": "truncate"}, refused("only supported for pay-per-token")),
    ],
    "completion request.n": [
        (TWO, {"body.choices.3.index": 1}),
        ({"n": 2}, refused("n is only supported for provisioned throughput")),
    ],
    "completion request.stop": [
        ({"stop": "x"}, {"call.request.sampling.stop": ("x",)}),
        ({"stop": ["x", "y"]}, {"call.request.sampling.stop": ("x", "y")}),
        ({"stop": {}}, refused("field 'stop'")),
    ],
    "completion request.suffix": [
        ({"suffix": " END"}, {"body.choices.0.text": Piece(" END")}),
        ({"suffix": 1}, refused("field 'suffix' expects input with json type 'string'")),
    ],
    "completion request.echo": [
        ({"echo": True}, {"body.choices.0.text": Piece("Once upon a time")}),
        ({"echo": "yes"}, refused("field 'echo' expects input with json type 'boolean'")),
    ],
    "completion request.use_raw_prompt": [
        ({}, {"call.request.raw": False, "body.usage.prompt_tokens": 11}),
        ({"use_raw_prompt": True}, {"call.request.raw": True, "body.usage.prompt_tokens": 4}),
        ({"use_raw_prompt": 0}, refused("field 'use_raw_prompt'")),
    ],
    "completion response.id": [({}, {"body.id": Piece("cmpl_")})],
    "completion response.choices": [(TWO, {"body.choices": list, "body.choices.3.finish_reason": "length"})],
    "completion response.object": [({}, {"body.object": "text_completion"})],
    "completion response.created": [({}, {"body.created": 5})],
    "completion response.usage": [
        ({}, {"body.usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}}),
        ({"stream": True}, {"events.-2.usage.total_tokens": 14}),
    ],
    "CompletionChoice.index": [
        (TWO, {"body.choices.0.index": 0, "body.choices.1.index": 0}),
        (TWO, {"body.choices.2.index": 1, "body.choices.3.index": 1}),
    ],
    "CompletionChoice.text": [
        ({}, {"body.choices.0.text": "Both options work"}),
        ({"stream": True}, {"events.0.choices.0.text": str}),
    ],
    "CompletionChoice.finish_reason": [
        ({}, {"body.choices.0.finish_reason": "length"}),
        ({"stop": " "}, {"body.choices.0.finish_reason": "stop"}),
        ({"stream": True}, {"events.0.choices.0.finish_reason": None, "events.-2.choices.0.finish_reason": "length"}),
    ],
}


@pytest.mark.covers(
    "databricks/REST reference: completions and embeddings",
    "prompt",
    "max_tokens",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "error_behavior",
    "n",
    "stop",
    "suffix",
    "echo",
    "use_raw_prompt",
    "fields of a completion",
)
@pytest.mark.parametrize("field", COMPLETIONS)
def test_completions_field(field: str) -> None:
    for request, seen in COMPLETIONS[field]:
        check(complete(**request), seen)


EMBEDDINGS: dict[str, Cases] = {
    "embedding request.input": [
        ({"input": "x"}, {"call.request.inputs": ("x",)}),
        ({"input": ["x", "y"]}, {"call.request.inputs": ("x", "y"), "body.data.1.index": 1}),
        ({"input": []}, refused("input must not be empty")),
    ],
    "embedding request.instruction": [
        ({"instruction": "Find:"}, {"call.request.instruction": "Find:"}),
        ({"instruction": 5}, refused("field 'instruction' expects")),
    ],
    "embedding response.id": [({}, {"body.id": str})],
    "embedding response.object": [({}, {"body.object": "list"})],
    "embedding response.model": [({}, {"body.model": "bge-large-en-v1.5"})],
    "embedding response.data": [({"input": ["x", "y"]}, {"body.data": list, "body.data.1.embedding": list})],
    "embedding response.usage": [({}, {"body.usage": {"prompt_tokens": 3, "total_tokens": 3}})],
    "EmbeddingObject.object": [({}, {"body.data.0.object": "embedding"})],
    "EmbeddingObject.index": [({"input": ["x", "y"]}, {"body.data.0.index": 0, "body.data.1.index": 1})],
    "EmbeddingObject.embedding": [({}, {"body.data.0.embedding.0": float, "body.data.0.embedding.1023": float})],
}


@pytest.mark.covers(
    "databricks/REST reference: completions and embeddings", "input", "instruction", "fields of an embedding"
)
@pytest.mark.parametrize("field", EMBEDDINGS)
def test_embeddings_field(field: str) -> None:
    for request, seen in EMBEDDINGS[field]:
        check(embed(**request), seen)
