"""Fast parser of common chat requests."""

from emulator.core.errors import EmulatedError
from emulator.core.http import Request
from emulator.core.requests import ChatRequest
from emulator.core.vendor import InferenceCall
from emulator.protocols.openai.fast_parse import Samplings, parse_body, parse_limit, parse_texts
from emulator.vendors.mindie.chat.messages import GROWTH
from emulator.vendors.mindie.chat.render import ChatCodec
from emulator.vendors.mindie.postprocess import Stops
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.request import measure_lengths
from emulator.vendors.mindie.request_ids import parse_id
from emulator.vendors.mindie.sampling import parse_sampling
from emulator.vendors.mindie.settings import MindieSettings

_SAMPLINGS = Samplings(parse_sampling({}, MindieSettings(), chat=True).build_sampling(1))
_NO_STOPS = Stops()


def fast_parse(request: Request, service: MindieService) -> InferenceCall | None:
    """Return the call :func:`~emulator.vendors.mindie.chat.parse.parse_chat` would build, or ``None`` to use that."""
    settings = service.settings
    if request.documents or settings.coordinator or settings.infer_mode == "dmi":
        return None
    if len(request.body) * GROWTH > settings.max_input_chars:
        return None
    body = parse_body(request)
    messages = () if body is None else parse_texts(body)
    if body is None or not messages:
        return None
    wanted, stream, name = parse_limit(body), body.get("stream", False), body.get("model")
    deployment = service.deployments.get(name) if type(name) is str else None
    if wanted is None or type(stream) is not bool or deployment is None or deployment.state != "ready":
        return None
    count, language = service.count_texts(messages, deployment)
    try:
        lengths = measure_lengths(service, deployment, count, wanted or service.profiles[deployment.name].answer)
    except EmulatedError:
        return None
    request_id = parse_id(request)
    codec = ChatCodec(
        id=request_id,
        model=deployment.name,
        prompt_tokens=lengths.prompt,
        limit=lengths.answer,
        stops=_NO_STOPS,
        tokenizer=service.tokenizer(deployment),
        full_text=settings.full_text,
        split=settings.enable_reasoning,
        prefix_cache=settings.prefix_cache,
    )
    chat = ChatRequest(messages, _SAMPLINGS[lengths.answer], parallel=True, language=language)
    return InferenceCall(deployment, chat, codec, stream, (lengths.prompt,), True, cancel_ids=request_id.names)
