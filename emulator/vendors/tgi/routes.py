"""Hugging Face text-generation-inference.

Source: text-generation-inference, ``router/src/server.rs``, release 3.3.7; release 0.9.4 at its tag.
"""

from collections.abc import Callable, Mapping

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, dump_json
from emulator.core.vendor import Call, Endpoint, Service, Vendor, no_habits
from emulator.core.wire import WireRequest, WireResponse
from emulator.dialects import openai, tgi
from emulator.dialects.openai import read_message
from emulator.dialects.tgi import check_ready, find_served
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.chat.parse import CHAT_REQUEST, parse_chat
from emulator.vendors.tgi.completions import parse_completions
from emulator.vendors.tgi.errors import CORS, JSON_HEADERS, PAYLOAD_LIMIT, render_error, render_late_error
from emulator.vendors.tgi.generate.parse import PLAIN, measure_input, parse_generate, parse_generate_stream, parse_root
from emulator.vendors.tgi.invocations import parse_invocations
from emulator.vendors.tgi.metrics import answer_metrics
from emulator.vendors.tgi.settings import TgiSettings, list_deployments
from emulator.vendors.tgi.tokens import list_tokens

Parse = Callable[[WireRequest, Service[TgiSettings, None]], Call | WireResponse]


def authenticate(request: WireRequest, service: Service[TgiSettings, None]) -> str:
    """Without configured keys everyone is let in; with them ``Authorization`` must be ``Bearer`` and one of them.

    The whole header is compared without regard to case.
    """
    if service.keys is None or request.path not in _GUARDED:
        return "default"
    header = request.headers.get("Authorization", "").lower()
    for key, principal in service.keys.items():
        if header == f"bearer {key}".lower():
            return principal
    raise EmulatedError(ErrorKind.UNAUTHENTICATED)


def environment(url: str) -> Mapping[str, str]:
    return {"HF_INFERENCE_ENDPOINT": url, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "-"}


def answer_health(request: WireRequest, service: Service[TgiSettings, None]) -> WireResponse:
    check_ready(find_served(service))
    return WireResponse(200, b"", CORS)


def answer_info(request: WireRequest, service: Service[TgiSettings, None]) -> WireResponse:
    return _answer(_describe_old(service) if service.settings.old else _describe(service))


def _describe(service: Service[TgiSettings, None]) -> JSON:
    settings = service.settings
    deployment = find_served(service)
    most, total = measure_input(settings, deployment)
    return {
        "model_id": deployment.name,
        "model_sha": settings.model_sha,
        "model_pipeline_tag": settings.pipeline_tag,
        "max_concurrent_requests": settings.max_concurrent_requests,
        "max_best_of": settings.max_best_of,
        "max_stop_sequences": settings.max_stop_sequences,
        "max_input_tokens": most,
        "max_total_tokens": total,
        "validation_workers": settings.validation_workers,
        "max_client_batch_size": settings.max_client_batch_size,
        "router": "text-generation-router",
        "version": settings.version,
        "sha": None,
        "docker_label": settings.docker_label,
    }


def _describe_old(service: Service[TgiSettings, None]) -> JSON:
    settings = service.settings
    deployment = find_served(service)
    most, total = measure_input(settings, deployment)
    return {
        "model_id": deployment.name,
        "model_sha": settings.model_sha,
        "model_dtype": "torch.float16",
        "model_device_type": "cuda",
        "model_pipeline_tag": settings.pipeline_tag,
        "max_concurrent_requests": settings.max_concurrent_requests,
        "max_best_of": settings.max_best_of,
        "max_stop_sequences": settings.max_stop_sequences,
        "max_input_length": most,
        "max_total_tokens": total,
        "waiting_served_ratio": 1.2,
        "max_batch_total_tokens": 32000,
        "max_waiting_tokens": 20,
        "validation_workers": settings.validation_workers,
        "version": settings.version,
        "sha": None,
        "docker_label": settings.docker_label,
    }


def answer_models(request: WireRequest, service: Service[TgiSettings, None]) -> WireResponse:
    name = find_served(service).name
    model = {"id": name, "object": "model", "created": 0, "owned_by": name}
    return _answer({"object": "list", "data": [model]})


def answer_tokenize(request: WireRequest, service: Service[TgiSettings, None]) -> WireResponse:
    """``POST /tokenize``: every token of ``inputs``, with its place."""
    body = serde.read(request, PLAIN)
    tokenizer = service.tokenizer(find_served(service))
    return _answer(list(list_tokens(tokenizer, body["inputs"])))


def answer_chat_tokenize(request: WireRequest, service: Service[TgiSettings, None]) -> WireResponse:
    """``POST /chat_tokenize``: a conversation in a template of the emulator's own, and its tokens."""
    messages = [read_message(message) for message in serde.read(request, CHAT_REQUEST)["messages"]]
    text = "".join(f"<|{message.role}|>\n{message.text}\n" for message in messages) + "<|assistant|>\n"
    tokenizer = service.tokenizer(find_served(service))
    return _answer({"tokenize_response": list(list_tokens(tokenizer, text)), "templated_text": text})


def _answer(value: JSON) -> WireResponse:
    return WireResponse(200, dump_json(value), JSON_HEADERS)


def _get(path: str, parse: Parse) -> tuple[Endpoint, ...]:
    """A GET route also answers HEAD."""
    return tuple(Endpoint(method=method, path=path, parse=parse, open=True) for method in ("GET", "HEAD"))


_POSTS: Mapping[str, Parse] = {
    "/": parse_root,
    "/generate": parse_generate,
    "/generate_stream": parse_generate_stream,
    "/v1/chat/completions": parse_chat,
    "/v1/completions": parse_completions,
    "/invocations": parse_invocations,
    "/tokenize": answer_tokenize,
}
_GUARDED = frozenset(_POSTS)

VENDOR = Vendor(
    name="tgi",
    title="Hugging Face text-generation-inference",
    endpoints=(
        *(Endpoint(method="POST", path=path, parse=parse) for path, parse in _POSTS.items()),
        Endpoint(method="POST", path="/chat_tokenize", parse=answer_chat_tokenize, open=True),
        *_get("/", answer_health),
        *_get("/health", answer_health),
        *_get("/ping", answer_health),
        *_get("/info", answer_info),
        *_get("/v1/models", answer_models),
        *_get("/metrics", answer_metrics),
    ),
    settings=TgiSettings,
    catalogue=list_deployments,  # type: ignore[arg-type]
    authenticate=authenticate,
    render_error=render_error,
    prepare=no_habits,
    fields=openai.FIELDS | tgi.FIELDS,
    environment=environment,
    render_late_error=render_late_error,
    body_limit=PAYLOAD_LIMIT,
    reads=("Content-Type",),
)
