"""The text-generation client against TGI, and against MindIE in the shapes that client reads."""

from collections.abc import Callable, Iterator

import pytest

from tests.conformance.conftest import in_session
from tests.conftest import LiveServer
from tests.http_client import Running
from tests.untyped_json import JSON

text_generation = pytest.importorskip("text_generation")
errors = pytest.importorskip("text_generation.errors")

CLIENT = "text-generation"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]  # the client's own use of pydantic

PROMPT = "Tell me about the harbour"
SCENARIO = """version: 1
name: live
vendors: {mindie: {profile: tgi}}
rules:
  - {name: busy, when: {prompt: too fast}, error: {kind: overloaded}}
  - {name: lost, when: {prompt: half}, error: {kind: internal}}
  - {name: failed, when: {prompt: slow}, error: {kind: timeout}}
"""


@pytest.fixture(scope="module")
def throttling() -> Iterator[Running]:
    with LiveServer(SCENARIO) as value:
        yield value


@pytest.fixture
def server(throttling: Running, session_by: str) -> Iterator[Running]:
    with in_session(throttling, session_by) as target:
        yield target


def headers(running: Running) -> dict[str, str]:
    return {"Authorization": f"Bearer {running.key('hf-x')}"}


@pytest.fixture(params=["tgi port", "tgi front", "mindie port", "mindie front"])
def url(request: pytest.FixtureRequest, server: Running) -> str:
    vendor, way = request.param.split()
    return server.urls[vendor] if way == "port" else server.front(vendor)


@pytest.fixture
def client(server: Running, url: str) -> JSON:
    return text_generation.Client(url, headers(server))


@pytest.mark.covers("mindie/programs", "text-generation")
def test_generate(client: JSON) -> None:
    answer = client.generate(PROMPT, max_new_tokens=7)
    assert answer.details.generated_tokens == len(answer.details.tokens) <= 7
    assert answer.generated_text == "".join(t.text for t in answer.details.tokens if not t.special)


def test_generate_with_all_parameters(client: JSON) -> None:
    answer = client.generate(
        PROMPT,
        do_sample=True,
        max_new_tokens=5,
        repetition_penalty=1.1,
        return_full_text=True,
        seed=42,
        stop_sequences=["zzz"],
        temperature=0.5,
        top_k=10,
        top_p=0.9,
        truncate=3,
        typical_p=0.9,
        watermark=True,
        decoder_input_details=True,
    )
    assert answer.generated_text.startswith(PROMPT)
    assert answer.details.seed == 42


def test_generate_stream(client: JSON) -> None:
    rows = list(client.generate_stream(PROMPT, max_new_tokens=7))
    assert "".join(row.token.text for row in rows if not row.token.special) == rows[-1].generated_text
    assert rows[-1].details.generated_tokens == len(rows)


async def test_generate_async(server: Running, url: str) -> None:
    client = text_generation.AsyncClient(url, headers(server))
    answer = await client.generate(PROMPT, max_new_tokens=7)
    rows = [row async for row in client.generate_stream(PROMPT, max_new_tokens=7)]
    assert rows[-1].generated_text == answer.generated_text


def test_validation_error(client: JSON) -> None:
    with pytest.raises(errors.ValidationError):
        client.generate("", max_new_tokens=7)


LLAMA = """version: 1
name: live
deployments: [{vendor: tgi, name: tgi, tokenizer: llama2}]
rules: [{name: next, when: {prompt: test}, reply: {text: _}}]
"""


async def test_ids_are_those_that_tests_of_the_client_expect(live_with: Callable[[str], Running]) -> None:
    """Source: text-generation-inference, clients/python/tests/test_client.py, with the vocabulary of Llama 2."""
    running = live_with(LLAMA)
    given = running.urls["tgi"], headers(running)
    client, asynchronous = text_generation.Client(*given), text_generation.AsyncClient(*given)
    options = {"max_new_tokens": 1, "decoder_input_details": True}
    for answer in (client.generate("test", **options), await asynchronous.generate("test", **options)):
        assert (answer.generated_text, answer.details.finish_reason.value) == ("_", "length")
        assert (answer.details.generated_tokens, answer.details.seed, answer.details.prefill) == (1, None, [])
        (token,) = answer.details.tokens
        assert (token.id, token.text, token.special) == (29918, "_", False)
    (event,) = client.generate_stream("test", max_new_tokens=1)
    assert (event.token.id, event.generated_text, event.details.finish_reason.value) == (29918, "_", "length")
    best = client.generate("test", max_new_tokens=1, best_of=2, do_sample=True, decoder_input_details=True).details
    assert len(best.best_of_sequences) == 1
    assert None not in (best.seed, best.best_of_sequences[0].seed)


@pytest.fixture(params=["port", "front"])
def tgi(request: pytest.FixtureRequest, server: Running) -> JSON:
    url = server.urls["tgi"] if request.param == "port" else server.front("tgi")
    return text_generation.Client(url, headers(server))


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        pytest.param("too fast", "OverloadedError", id="overloaded"),
        pytest.param("half", "IncompleteGenerationError", id="incomplete"),
        pytest.param("slow", "GenerationError", id="failed"),
    ],
)
def test_typed_errors(tgi: JSON, prompt: str, name: str) -> None:
    error = getattr(errors, name)
    with pytest.raises(error):
        tgi.generate(prompt, max_new_tokens=3)
    with pytest.raises(error):
        list(tgi.generate_stream(prompt, max_new_tokens=3))


def test_best_of_and_top_tokens(tgi: JSON) -> None:
    answer = tgi.generate(PROMPT, best_of=2, do_sample=True, max_new_tokens=4, top_n_tokens=2)
    assert len(answer.details.best_of_sequences) == 1
    assert all(len(row) == 2 for row in answer.details.top_tokens)


def test_grammar(tgi: JSON) -> None:
    grammar = {"type": "regex", "value": "[0-9]{3}"}
    answer = tgi.generate(PROMPT, grammar=grammar, max_new_tokens=20)
    assert answer.generated_text.isdigit()


def test_chat(tgi: JSON) -> None:
    answer = tgi.chat([{"role": "user", "content": "Hello"}], max_tokens=5)
    assert answer.choices[0].message.content
    assert answer.usage["completion_tokens"] == 5


def test_chat_with_tools(live_with: Callable[[str], Running]) -> None:
    running = live_with("rules: [{name: call, reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}}]\n")
    client = text_generation.Client(running.urls["tgi"], headers(running))
    tool = {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather",
            "parameters": {"type": "object", "properties": {}},
        },
    }
    answer = client.chat([{"role": "user", "content": "Hello"}], tools=[tool])
    assert answer.choices[0].message.tool_calls[0]["function"]["name"] == "get_weather"


def test_old_release(live_with: Callable[[str], Running]) -> None:
    running = live_with("vendors: {tgi: {profile: '0.9.4'}}\n")
    client = text_generation.Client(running.urls["tgi"], headers(running))
    answer = client.generate(PROMPT, max_new_tokens=4, decoder_input_details=True)
    assert answer.details.prefill[0].logprob is None
    assert list(client.generate_stream(PROMPT, max_new_tokens=4))[-1].generated_text == answer.generated_text


SMALL = "vendors: {tgi: {max_total_tokens: 1000, max_input_tokens: 500}}\n"


async def test_max_new_tokens_over_limit_raises(live_with: Callable[[str], Running]) -> None:
    running = live_with(SMALL)
    client = text_generation.Client(running.urls["tgi"], headers(running))
    with pytest.raises(errors.ValidationError):
        client.generate("test", max_new_tokens=10_000)
    with pytest.raises(errors.ValidationError):
        list(client.generate_stream("test", max_new_tokens=10_000))
    waiting = text_generation.AsyncClient(running.urls["tgi"], headers(running))
    with pytest.raises(errors.ValidationError):
        await waiting.generate("test", max_new_tokens=10_000)


async def test_missing_model_raises_not_found(server: Running) -> None:
    url = server.urls["mindie"] + "/v2/models/fake/generate"
    client = text_generation.Client(url, headers(server))
    with pytest.raises(errors.NotFoundError):
        client.generate("test")
    with pytest.raises(errors.NotFoundError):
        list(client.generate_stream("test"))
    with pytest.raises(errors.NotFoundError):
        await text_generation.AsyncClient(url, headers(server)).generate("test")


SHAPES = {
    "as documented": ("{}", False, False),
    "filled": ("{token_fields: filled}", True, False),
    "filled, with one id in streams": ("{token_fields: filled, stream_token_id: scalar}", True, True),
}
"""What MindIE sends, and whether the client reads its answers in one piece and its streams."""


@pytest.mark.covers("mindie/what clients accept", "generate", "its details", "generate_stream")
@pytest.mark.parametrize(("section", "whole", "streams"), SHAPES.values(), ids=SHAPES)
async def test_client_parses_mindie_shapes(
    live_with: Callable[[str], Running], section: str, whole: bool, streams: bool
) -> None:
    pydantic = pytest.importorskip("pydantic")
    running = live_with(f"vendors: {{mindie: {section}}}\n")
    client = text_generation.Client(running.urls["mindie"], headers(running))
    waiting = text_generation.AsyncClient(running.urls["mindie"], headers(running))
    for details in (False, True):
        if whole:
            assert client.generate(PROMPT, max_new_tokens=4, decoder_input_details=details).generated_text
        else:
            with pytest.raises(pydantic.ValidationError):
                client.generate(PROMPT, max_new_tokens=4, decoder_input_details=details)
    if whole:
        assert (await waiting.generate(PROMPT, max_new_tokens=4)).generated_text
    if streams:
        assert list(client.generate_stream(PROMPT, max_new_tokens=4))[-1].generated_text
    else:
        with pytest.raises(KeyError, match="error"):
            list(client.generate_stream(PROMPT, max_new_tokens=4))
