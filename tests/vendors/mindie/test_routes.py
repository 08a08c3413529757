"""The routes beside the TGI-style ones: vLLM, OpenAI, native and Triton forms, and the catalogue."""

import json

import pytest

from emulator.core.call import ChatAsk
from tests.conftest import Start
from tests.parsed import JSON
from tests.vendors.mindie.direct import accepted, refused

REPLY = "rules: [{name: fixed, reply: {text: ' one two three'}}]\n"
MODEL = "llama_65b"
HELLO = [{"role": "user", "content": "Hello"}]
CHAT = "/v1/chat/completions"
INFER = f"/v2/models/{MODEL}/infer"
TENSOR = {"name": "input0", "shape": [1, 2], "datatype": "UINT32", "data": [9707, 0]}
OUTPUTS = [{"name": "output0"}]


def error(path: str, body: JSON, status: int = 422) -> str:
    answer = refused("mindie", path, body)
    assert answer.status == status
    return str(json.loads(answer.body)["error"])


async def test_vllm(start: Start) -> None:
    running = await start(REPLY)
    whole = await running.ask("mindie", "/generate", {"prompt": "Hello"})
    assert whole.body == b'{"text":["Hello  one two three"]}'
    answer = await running.ask("mindie", "/generate", {"prompt": "Hello", "stream": True})
    assert answer.header("Content-Type") == "text/event-stream"
    *rows, rest = answer.body.split(b"\0")
    assert rest == b""
    assert "".join(json.loads(row)["text"][0] for row in rows) == " one two three"


async def test_vllm_of_a_list_repeats_its_first_text(start: Start) -> None:
    prompt = [
        {"type": "image_url", "image_url": "a.png"},
        {"type": "text", "text": "Hi"},
        {"type": "text", "text": "x"},
    ]
    answer = await (await start(REPLY)).ask("mindie", "/generate", {"prompt": prompt})
    assert answer.json() == {"text": ["Hi  one two three"]}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param({"stop": " two"}, " one", id="a stop string"),
        pytest.param({"stop": " two", "include_stop_str_in_output": True}, " one two", id="that stays"),
        pytest.param({"stop_token_ids": [5297]}, " one", id="a stop id"),
        pytest.param({"stop_token_ids": [5297], "include_stop_str_in_output": True}, " one two", id="whose text stays"),
        pytest.param({"stop_token_ids": [2**40, -1]}, " one two three", id="what is no id is skipped"),
        pytest.param({"max_tokens": 2}, " one two", id="the limit"),
    ],
)
async def test_vllm_ends(start: Start, body: JSON, text: str) -> None:
    running = await start(REPLY)
    answer = await running.ask("mindie", "/generate", {"prompt": "Hello", **body})
    assert answer.json() == {"text": [f"Hello {text}"]}


async def test_vllm_several_answers(start: Start) -> None:
    running = await start()
    body = {"prompt": "Hello", "n": 3, "temperature": 0.8, "max_tokens": 4}
    assert len((await running.ask("mindie", "/generate", body)).json()["text"]) == 3
    streamed = await running.ask("mindie", "/generate", {**body, "stream": True})
    assert all(len(json.loads(row)["text"]) == 3 for row in streamed.body.split(b"\0")[:-1])


def test_prompt_wins_over_inputs() -> None:
    assert accepted("mindie", "/generate", {"inputs": "a", "prompt": "b"}).ask.prompt == "b"


VLLM = [
    ({"prompt": 5}, "The type of prompt is abnormal"),
    ({"prompt": []}, "Prompt arr is empty"),
    ({"temperature": -0.1}, "Parameter temperature must be in (0.0,3.40282e+38], got -0.1."),
    ({"top_k": 0}, "Parameter top_k must be in -1 || (0,2147483647], got 0"),
    ({"top_p": 1.1}, "Parameter top_p must be in (0.0,1.0], got 1.1."),
    ({"repetition_penalty": 2.1}, "Parameter 'repetition_penalty' must be in (0.0, 2], got 2.1."),
    ({"frequency_penalty": 2.1}, "Parameter frequency_penalty should be in [-2.0, 2.0], got 2.1."),
    ({"presence_penalty": -3}, "Parameter presence_penalty not in [-2.0, 2.0], but got -3."),
    ({"stop_token_ids": 5}, "Parameter stop_token_ids not array"),
    ({"stop_token_ids": ["x"]}, "Parameter stop_token_ids not list[int]"),
    ({"best_of": 129}, "Parameter [best_of] should be in [1, 128], got 129."),
    ({"n": 2}, "Best_of/N can not greater than 1 when temperature is 0 or not set, but best_of is None, n is 2."),
    ({"best_of": 1, "n": 2, "temperature": 1}, "best_of should greater than or equal to n, but best_of is 1, n is 2."),
    ({"model": 5}, "Model must be string type."),
    ({"max_tokens": 1.5}, "Parameter max_tokens not number_integer"),
    ({"max_tokens": 0}, "Parameter max_tokens must be (0,2147483647], got 0"),
    ({"stream": "x"}, "stream must be boolean type."),
]


@pytest.mark.parametrize(("body", "text"), VLLM, ids=[json.dumps(body) for body, _ in VLLM])
def test_vllm_refused(body: JSON, text: str) -> None:
    assert error("/generate", {"prompt": "Hello", **body}) == text


@pytest.mark.parametrize(
    "body", [pytest.param({}, id="neither"), pytest.param([], id="a list"), pytest.param(b"{", id="no JSON")]
)
def test_neither_form(body: JSON) -> None:
    inner = json.loads(error("/generate", body))
    assert inner["error_type"] == "validation"


async def test_chat(start: Start) -> None:
    running = await start(REPLY)
    answer = (await running.ask("mindie", CHAT, {"model": MODEL, "messages": HELLO})).json()
    assert list(answer) == ["id", "object", "created", "model", "choices", "usage"]
    message = {"role": "assistant", "content": " one two three", "tool_calls": []}
    assert answer["choices"] == [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}]


async def test_chat_stream(start: Start) -> None:
    running = await start("vendors: {mindie: {full_text: true}}\n" + REPLY)
    *rows, done = (await running.ask("mindie", CHAT, {"model": MODEL, "messages": HELLO, "stream": True})).events()
    assert done == "[DONE]"
    texts = [row["choices"][0]["delta"]["content"] for row in rows]
    assert texts == ["", " one", " one two", " one two three", " one two three"]
    assert list(rows[-1]) == ["id", "object", "created", "model", "full_text", "usage", "choices"]
    assert all("usage" not in row for row in rows[:-1])


async def test_chat_reasons_when_asked(start: Start) -> None:
    body = {"model": MODEL, "messages": HELLO, "chat_template_kwargs": {"enable_thinking": True}}
    answer = (await (await start()).ask("mindie", CHAT, body)).json()
    assert answer["choices"][0]["message"]["reasoning_content"]
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0


MESSAGES = [
    ({}, "Request contains not model or model null"),
    ({"model": 5}, "Request param model must be string"),
    ({"model": ""}, "Request param model must be not empty"),
    ({"model": "other"}, "Model not found"),
    ({"model": MODEL}, "Request param contains not messages or messages null"),
    ({"model": MODEL, "messages": []}, "Request param messages not arr or arr is empty"),
    ({"model": MODEL, "messages": [{}]}, "Request param contains not role or role null"),
    ({"model": MODEL, "messages": [{"role": "user"}]}, "Request param contains not content or content null"),
    (
        {"model": MODEL, "messages": [{"role": "assistant", "content": ""}]},
        'Request param "content" should not be empty',
    ),
    (
        {"model": MODEL, "messages": [{"role": "tool", "content": "x"}]},
        "Request param contains not tool_call_id or tool_call_id null while role is tool",
    ),
    ({"model": MODEL, "messages": HELLO, "top_logprobs": 21}, "Parameter top logprobs must be in [0, 20], got 21."),
    ({"model": MODEL, "messages": HELLO, "tools": [{}]}, "Tool param invalid, tool type not exist"),
    (
        {"model": MODEL, "messages": HELLO, "tool_choice": "x"},
        "Parameter tool_choice string not in [none, auto, required]",
    ),
    (
        {"model": MODEL, "messages": HELLO, "response_format": {"type": "xml"}},
        "Parameter response_format.type must be 'json_object', 'json_schema' or 'text', got 'xml'",
    ),
]


@pytest.mark.parametrize(("body", "text"), MESSAGES, ids=[json.dumps(body) for body, _ in MESSAGES])
def test_chat_refused(body: JSON, text: str) -> None:
    assert error(CHAT, body) == text


async def test_chat_with_a_schema(start: Start) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    body = {"model": MODEL, "messages": HELLO, "response_format": form}
    answer = (await (await start()).ask("mindie", CHAT, body)).json()
    assert isinstance(json.loads(answer["choices"][0]["message"]["content"])["n"], int)


COMPLETIONS = [
    ({"prompt": None}, "Contains not prompt or prompt null"),
    ({"prompt": []}, "Prompt array cannot be empty."),
    ({"prompt": ["a"]}, "All elements of the prompt array must be integers."),
    ({"prompt": 5}, "The type of prompt is abnormal,prompt must be str or integer list."),
    ({"prompt": "x", "logprobs": 6}, "logprobs should be in range [0, 5], got 6."),
    ({"model": "other"}, "Not found given model, please check modelName in config file."),
]


@pytest.mark.parametrize(("body", "text"), COMPLETIONS, ids=[json.dumps(body) for body, _ in COMPLETIONS])
def test_completions_refused(body: JSON, text: str) -> None:
    assert error("/v1/completions", {"model": MODEL, **body}) == text


async def test_completions_of_ids(start: Start) -> None:
    running = await start(REPLY)
    answer = (await running.ask("mindie", "/v1/completions", {"model": MODEL, "prompt": [9707], "logprobs": 2})).json()
    (choice,) = answer["choices"]
    assert list(choice) == ["index", "text", "logprobs", "stop_reason", "finish_reason"]
    assert choice["logprobs"]["text_offset"] == [0, 4, 8, 14]
    assert answer["usage"]["prompt_tokens"] == 1


async def test_native(start: Start) -> None:
    running = await start(REPLY)
    body = {"inputs": "Hello", "parameters": {"details": True, "seed": 5}}
    answer = (await running.ask("mindie", "/infer", body)).json()
    assert answer["generated_text"] == " one two three"
    assert list(answer["details"]) == ["finish_reason", "generated_tokens", "generated_token_ids", "seed"]
    rows = (await running.ask("mindie", "/infer", {**body, "stream": True})).events()
    assert list(rows[0]) == ["prefill_time", "decode_time", "token"]
    assert rows[0]["decode_time"] is rows[1]["prefill_time"] is rows[-1]["token"]["text"] is None
    assert rows[-1]["details"] == {"finish_reason": "eos_token", "generated_tokens": 4, "seed": 5}
    ids = (await running.ask("mindie", "/infer_token", {"input_id": [9707]})).json()
    assert ids == {"generated_text": " one two three"}


NATIVE = [
    ({}, "Not found inputs.", 422),
    ({"inputs": "x", "input_id": [1]}, "Input conflict.", 422),
    ({"input_id": 5}, "Parameter input_id must be an array", 422),
    ({"input_id": ["x"]}, "Parameter input_id must be integer", 422),
    ({"input_id": [-1]}, "Data element in param input_id is invalid", 422),
    ({"input_id": [151936]}, "Failed to enqueue inferRequest. Invalid Input Ids", 424),
    ({"inputs": "x", "parameters": {"priority": 6}}, "Parameter priority must be in [1,5], got 6.", 422),
    (
        {"inputs": "x", "parameters": {"timeout": 0}},
        "Parameter timeout must be strictly positive and small than 65535 seconds, got 0.",
        422,
    ),
]


@pytest.mark.parametrize(("body", "text", "status"), NATIVE, ids=[json.dumps(row[0]) for row in NATIVE])
def test_native_refused(body: JSON, text: str, status: int) -> None:
    assert error("/infer", body, status) == text


async def test_triton(start: Start) -> None:
    running = await start(REPLY)
    path = f"/v2/models/{MODEL}/generate"
    body = {"id": "a-1", "text_input": "Hello", "parameters": {"details": True}}
    answer = (await running.ask("mindie", path, body)).json()
    assert list(answer) == ["id", "model_name", "model_version", "text_output", "details"]
    assert (answer["id"], answer["text_output"]) == ("a-1", " one two three")
    stream = await running.ask("mindie", f"{path}_stream", body)
    assert stream.body.startswith(b'data:{"id":"a-1"')
    assert "".join(row["text_output"] for row in stream.events()) == " one two three"
    assert ["finish_reason" in row["details"] for row in stream.events()] == [False, False, False, True]
    tensor = (await running.ask("mindie", INFER, {"id": "a-1", "inputs": [TENSOR], "outputs": OUTPUTS})).json()
    assert tensor["outputs"][0]["shape"] == [1, len(tensor["outputs"][0]["data"])]


TRITON = [
    ({}, "Req should contain 'inputs' and the type should be array."),
    ({"inputs": []}, "Inputs count must be 1."),
    ({"inputs": [{}]}, "Cannot find name in inputs or its type is not string"),
    ({"inputs": [{**TENSOR, "name": "x" * 257}]}, "The length of name set in inputs exceeds 256."),
    ({"inputs": [{**TENSOR, "shape": None}]}, "Cannot find shape in inputs or its type is not array"),
    ({"inputs": [{**TENSOR, "shape": [1, -2]}]}, "Shape element must be integer type."),
    (
        {"inputs": [{**TENSOR, "shape": [2, 2]}]},
        "Shape must be at most two-dimensional, and the last element's value must be in (0,1048576].",
    ),
    ({"inputs": [{**TENSOR, "datatype": "FP32"}]}, "Unsupported datatype, got FP32."),
    ({"inputs": [{**TENSOR, "data": [1]}]}, "Data size should be 2, got 1."),
    ({"inputs": [TENSOR]}, "Req should contain 'outputs' and the type should be array."),
    ({"inputs": [TENSOR], "outputs": []}, "Outputs size should be 1, got 0."),
    (
        {"inputs": [TENSOR], "outputs": OUTPUTS, "id": "a b"},
        "The id can contain only digits, letters, underscores(_), hyphens(-) and no more than 256 words in length.",
    ),
]


@pytest.mark.parametrize(("body", "text"), TRITON, ids=[json.dumps(body)[:60] for body, _ in TRITON])
def test_triton_refused(body: JSON, text: str) -> None:
    assert error(INFER, body) == text


def test_unknown_model() -> None:
    assert error("/v2/models/other/generate", {"text_input": "x"}, 404) == "Model other not found."


@pytest.mark.parametrize(
    ("seconds", "status"),
    [("1", 200), ("600", 200), ("0", 404), ("601", 404), ("1000", 404), ("x", 404)],
)
async def test_timed_health(start: Start, seconds: str, status: int) -> None:
    answer = await (await start()).ask("mindie", f"/health/timed-{seconds}")
    assert answer.status == status


async def test_metrics(start: Start) -> None:
    running = await start(REPLY)
    await running.ask("mindie", "/", {"inputs": "Hello"})
    answer = await running.ask("mindie", "/metrics")
    assert answer.header("Content-Type") == "text/plain; charset=utf-8"
    assert f'generation_tokens_total{{model_name="{MODEL}"}} 4' in answer.body.decode()
    off = await (await start("vendors: {mindie: {service_monitor: false}}\n")).ask("mindie", "/metrics")
    assert off.status == 500
    assert off.json()["error_type"] == "Incomplete Generation"


async def test_adapters_are_listed(start: Start) -> None:
    running = await start("deployments: [{vendor: mindie, name: poet, kind: lora, tokenizer: qwen2}]\n")
    rows = {row["id"]: row["parent"] for row in (await running.ask("mindie", "/v1/models")).json()["data"]}
    assert rows == {MODEL: "null", "poet": MODEL}
    assert (await running.ask("mindie", "/v1/models/poet")).json()["parent"] == MODEL


@pytest.mark.parametrize("calls", ["abc", 5, [1], {}, [None], [{"id": 5}]], ids=repr)
@pytest.mark.parametrize("content", ["x", [{"type": "text", "text": "x"}]], ids=["text", "parts"])
def test_calls_beside_a_users_content_are_ignored(calls: JSON, content: JSON) -> None:
    message = {"role": "user", "content": content, "tool_calls": calls}
    call = accepted("mindie", "/v1/chat/completions", {"model": "llama_65b", "messages": [message]})
    assert isinstance(call.ask, ChatAsk)
    assert (call.ask.prompt, call.ask.messages[0].tool_calls) == ("x", ())
