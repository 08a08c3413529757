"""Fields of the text and stream inference page, each with an accepted or refused request."""

import json
from collections.abc import Mapping

import pytest

from emulator.core.calls import InferenceCall
from emulator.generation.segments import FixedReply
from tests.reference_rows import Cases, Piece, check
from tests.untyped_json import JSON
from tests.vendors.client import make_plan, make_request
from tests.vendors.mindie.direct import PROMPT, ask, send

POET = "deployments: [{vendor: mindie, name: poet, kind: lora, tokenizer: qwen2}]\n"
TEXT = " one two three"  # four tokens, the end of the sequence among them
PICTURE: JSON = {"type": "image_url", "image_url": "a.png"}
FILM: JSON = {"type": "video_url", "video_url": "a.mp4"}
SOUND: JSON = {"type": "audio_url", "audio_url": "a.mp3"}


def look(body: JSON) -> JSON:
    """Return the parsed call and the response for the reply :data:`TEXT`."""
    call = send("/", body, POET)
    if not isinstance(call, InferenceCall):
        return {"status": call.status, **json.loads(call.body)}
    plan = make_plan(call, FixedReply(text=TEXT))
    if call.stream:
        lines = [data.decode() for _, data, _, _ in call.codec.stream(plan, make_request("/")).events]
        return {"call": call, "lines": lines, "data": [json.loads(line[6:]) for line in lines]}
    answer = call.codec.render(plan, make_request("/"))
    return {"call": call, "status": answer.status, "text": json.loads(answer.body)}


def refused(error: str) -> Mapping[str, object]:
    return {"status": 422, "error": Piece(error)}


def parts(*given: JSON) -> JSON:
    """Build a request with a list of texts and media."""
    return {"inputs": [{"type": "text", "text": PROMPT}, *given]}


def parameters(**values: JSON) -> Mapping[str, object]:
    """Return the expected sampling of a request with these parameters."""
    unset = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "repetition_penalty": 1.0}
    return {"call.request.sampling.parameters": tuple((unset | values).items())}


REQUEST: dict[str, Cases] = {
    "request.inputs": [
        ({"inputs": "Hi"}, {"call.request.prompts": ("Hi",)}),
        (parts(PICTURE), {"call.request.prompts": (PROMPT,), "call.request.media": 1}),
        ({}, refused("Request should contain 'inputs' and the type should be string.")),
        ({"inputs": ""}, refused("Inputs length must be in (0, 4194304], but got 0")),
    ],
    "request.type": [
        (parts({"type": "text", "text": " and"}, PICTURE, FILM, SOUND), {"call.request.media": 3}),
        (parts({"type": "smell_url"}), refused("Input type smell_url does not match the mm type.")),
    ],
    "request.text": [
        ({"inputs": [{"type": "text", "text": "你好"}]}, {"call.request.prompts": ("你好",)}),
        ({"inputs": [{"type": "text", "text": ""}]}, refused("Request param text must not be empty")),
    ],
    "request.image_url": [
        (parts(PICTURE), {"call.request.media": 1}),
        (
            parts({**PICTURE, "image_url": "https://x/a.gif"}),
            refused("end with one of ['.jpg', '.jpeg', '.png']"),
        ),
        (parts(*[PICTURE] * 21), refused("The number of multimodal url should be no more than 20")),
    ],
    "request.video_url": [
        (parts(FILM), {"call.request.media": 1}),
        (parts({**FILM, "video_url": "https://x/a.mkv"}), refused("end with one of ['.mp4', '.avi', '.wmv']")),
        (parts(*[FILM] * 21), refused("The number of multimodal url should be no more than 20")),
    ],
    "request.audio_url": [
        (parts(SOUND), {"call.request.media": 1}),
        (
            parts({**SOUND, "audio_url": "https://x/a.ogg"}),
            refused("end with one of ['.mp3', '.wav', '.flac']"),
        ),
        (parts(*[SOUND] * 21), refused("The number of multimodal url should be no more than 20")),
    ],
    "request.parameters": [
        (ask({"max_new_tokens": 7}), {"call.request.sampling.max_tokens": 7}),
        (ask([]), refused("parameters must be object type.")),
    ],
    "request.decoder_input_details": [
        (ask({"decoder_input_details": True}), {"text.0.details.prefill.4.id": int}),
        (ask({"decoder_input_details": 1}), refused("decoder_input_details must be boolean type.")),
        (ask({"decoder_input_details": True}, stream=True), refused("must not be true when stream is true")),
    ],
    "request.details": [
        (ask({}), {"text": [{"generated_text": TEXT}]}),
        (ask({"details": True}), {"text.0.details.generated_tokens": 4}),
        (ask({"details": 1}), refused("details must be boolean type.")),
    ],
    "request.do_sample": [
        (ask({}), {"call.request.sampling.greedy": True}),
        (ask({"do_sample": True}), {"call.request.sampling.greedy": False}),
        (ask({"do_sample": False, "temperature": 0.7}), {"call.request.sampling.greedy": True}),
        (ask({"do_sample": 1}), refused("do_sample must be boolean type.")),
    ],
    "request.max_new_tokens": [
        (ask({}), {"call.request.sampling.max_tokens": 20}),
        (ask({"max_new_tokens": 2}), {"text": [{"generated_text": " one two"}]}),
        (ask({"max_new_tokens": 0}), refused("Parameter max_new_tokens must be in (0,2147483647], got 0.")),
    ],
    "request.repetition_penalty": [
        (ask({"do_sample": True, "repetition_penalty": 1.1}), parameters(repetition_penalty=1.1)),
        (
            ask({"repetition_penalty": 0}),
            refused("Parameter 'repetition_penalty' must be in (0.0, 3.40282e+38]"),
        ),
    ],
    "request.return_full_text": [
        (ask({"return_full_text": True}), {"text.0.generated_text": Piece(PROMPT)}),
        (ask({"return_full_text": 1}), refused("return_full_text must be boolean type.")),
    ],
    "request.seed": [
        (ask({"details": True, "seed": 2**64 - 1}), {"text.0.details.seed": 2**64 - 1}),
        (ask({"seed": 0}), refused("seed must be in (0, 18446744073709551615], got 0.")),
    ],
    "request.temperature": [
        (ask({"temperature": 0.7}), parameters(temperature=0.7)),
        (ask({"temperature": 1e-6}), refused("Parameter temperature must be in (0.0,3.40282e+38], got 1e-06.")),
    ],
    "request.top_k": [
        (ask({"top_k": 5}), parameters(top_k=5)),
        (ask({"top_k": 0}), refused("Parameter top_k must be in -1 || (0,2147483647], got 0")),
    ],
    "request.top_p": [
        (ask({"top_p": 0.5}), parameters(top_p=0.5)),
        (ask({"top_p": 1.0}), refused("Parameter top_p must be in (0.0,1.0], got 1.0.")),
    ],
    "request.truncate": [
        (ask({"truncate": 2}, inputs="a b c d e f"), {"call.request.prompts": (" e f",), "call.prompt_tokens": (2,)}),
        (ask({"truncate": 0}), refused("truncate must be in (0,2147483647], got 0.")),
    ],
    "request.typical_p": [
        (ask({"typical_p": 0.5}), parameters()),
        (ask({"typical_p": 1.1}), refused("Parameter typical_p must be in (0.0,1.0], got 1.1.")),
    ],
    "request.watermark": [
        (ask({"watermark": True}), parameters()),
        (ask({"watermark": 1}), refused("watermark must be boolean type.")),
    ],
    "request.stop": [
        (ask({"stop": " three"}), {"text.0.generated_text": " one two"}),
        (ask({"stop": [" three", " two"]}), {"text.0.generated_text": " one"}),
        (ask({"stop": ""}), refused("length of `stop` must be in [1, 1024], but got 0")),
        (ask({"stop": ["x"] * 1025}), refused("item length in [1, 1024] with total <= 32768")),
    ],
    "request.adapter_id": [
        (ask({"adapter_id": "None"}), {"call.deployment.name": "llama_65b"}),
        (ask({"adapter_id": "poet"}), {"call.deployment.name": "poet"}),
        (ask({"adapter_id": "a b"}), refused("The format of adapter_id is invalid.")),
    ],
    "request.stream": [
        (ask({}, stream=True), {"call.stream": True, "data.0.token.text": " one"}),
        (ask({}, stream="true"), refused("Stream must be boolean type.")),
    ],
}

DETAILS: JSON = ask({"details": True, "decoder_input_details": True, "seed": 5})
CUT: JSON = ask({"details": True, "max_new_tokens": 2})
STOPPED: JSON = ask({"details": True, "stop": " two"})
STREAM: JSON = ask({"details": True, "seed": 5}, stream=True)


def ends(place: str) -> Cases:
    """Return requests with the finish reason at ``place`` of each response."""
    stream = place.startswith("data")
    return [
        ({**request, "stream": stream}, {f"{place}.finish_reason": reason})
        for request, reason in [(ask({"details": True}), "eos_token"), (CUT, "length"), (STOPPED, "stop_sequence")]
    ]


ANSWER: dict[str, Cases] = {
    "text.details": [(DETAILS, {"text.0.details": dict})],
    "text.details.prompt_tokens": [(DETAILS, {"text.0.details.prompt_tokens": 5})],
    "text.details.finish_reason": ends("text.0.details"),
    "text.details.generated_tokens": [
        (DETAILS, {"text.0.details.generated_tokens": 4}),
        (CUT, {"text.0.details.generated_tokens": 2}),
    ],
    "text.details.prefill": [
        (DETAILS, {"text.0.details.prefill.4": dict}),
        (CUT, {"text.0.details.prefill": []}),
    ],
    "text.details.prefill.id": [(DETAILS, {"text.0.details.prefill.0.id": int})],
    "text.details.prefill.logprob": [(DETAILS, {"text.0.details.prefill.0.logprob": None})],
    "text.details.prefill.special": [(DETAILS, {"text.0.details.prefill.0.special": None})],
    "text.details.prefill.text": [(DETAILS, {"text.0.details.prefill.0.text": None})],
    "text.details.seed": [
        (DETAILS, {"text.0.details.seed": 5}),
        (CUT, {"text.0.details.seed": int}),
    ],
    "text.details.tokens": [(DETAILS, {"text.0.details.tokens.3": dict})],
    "text.details.tokens.id": [(DETAILS, {"text.0.details.tokens.0.id": int, "text.0.details.tokens.3.id": 151645})],
    "text.details.tokens.logprob": [(DETAILS, {"text.0.details.tokens.0.logprob": None})],
    "text.details.tokens.special": [(DETAILS, {"text.0.details.tokens.0.special": None})],
    "text.details.tokens.text": [(DETAILS, {"text.0.details.tokens.0.text": None})],
    "text.generated_text": [(ask({}), {"text": [{"generated_text": TEXT}]})],
    "stream.data": [(STREAM, {"lines.0": Piece('data: {"token":'), "data.3": dict})],
    "stream.data.token": [(STREAM, {"data.0.token": dict})],
    "stream.data.token.id": [(STREAM, {"data.0.token.id.0": int, "data.3.token.id": [151645]})],
    "stream.data.token.text": [(STREAM, {"data.0.token.text": " one", "data.3.token.text": ""})],
    "stream.data.token.logprob": [(STREAM, {"data.0.token.logprob": None})],
    "stream.data.token.special": [(STREAM, {"data.0.token.special": None})],
    "stream.data.generated_text": [(STREAM, {"data.0.generated_text": None, "data.-1.generated_text": TEXT})],
    "stream.data.details": [
        (STREAM, {"data.0.details": None, "data.-1.details": dict}),
        (ask({}, stream=True), {"data.-1.details": None}),
    ],
    "stream.data.details.prompt_tokens": [(STREAM, {"data.-1.details.prompt_tokens": 5})],
    "stream.data.details.finish_reason": ends("data.-1.details"),
    "stream.data.details.generated_tokens": [(STREAM, {"data.-1.details.generated_tokens": 4})],
    "stream.data.details.seed": [(STREAM, {"data.-1.details.seed": 5})],
}

ROWS = REQUEST | ANSWER


@pytest.mark.covers("mindie/routes", "POST /")
@pytest.mark.covers("mindie/top level", "inputs", "parameters", "stream")
@pytest.mark.covers("mindie/parameters", "decoder_input_details")
@pytest.mark.covers("mindie/tokens", "end of a sequence")
@pytest.mark.covers("mindie/decisions", "5 stop_sequence", "11 prefill without texts", "12 details of a stream")
@pytest.mark.covers(
    "mindie/vectors", "text alone", "details", "stream and decoder_input_details", "stream", "stop, a hit"
)
@pytest.mark.parametrize("field", ROWS)
def test_field(field: str) -> None:
    for body, seen in ROWS[field]:
        check(look(body), seen)
