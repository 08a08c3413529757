"""Fast parser of common chat requests."""

from emulator.core.errors import EmulatedError
from emulator.core.http import Request
from emulator.core.requests import ChatRequest
from emulator.core.vendor import InferenceCall
from emulator.protocols.openai.fast_parse import Samplings, has_each_key_once, parse_body, parse_limit, parse_texts
from emulator.protocols.tgi import find_served, find_served_deployment
from emulator.vendors.tgi.chat.fields import ChatBody
from emulator.vendors.tgi.chat.parse import build_parameters
from emulator.vendors.tgi.chat.render import ChatCodec
from emulator.vendors.tgi.chat.shapes import ChatOptions
from emulator.vendors.tgi.images import has_vision
from emulator.vendors.tgi.request import measure_limit
from emulator.vendors.tgi.sampling import build_sampling, is_sampled
from emulator.vendors.tgi.settings import TgiService

_DEFAULTS = build_parameters(ChatBody(messages=()))
_SAMPLINGS = Samplings(build_sampling(_DEFAULTS, 1, 1, sampled=is_sampled(_DEFAULTS), logprobs=False))


def fast_parse(request: Request, service: TgiService) -> InferenceCall | None:
    """Return the call :func:`~emulator.vendors.tgi.chat.parse.parse_chat` would build, or ``None`` to use that."""
    settings = service.settings
    body = None if settings.old or request.headers.get("Content-Type") != "application/json" else parse_body(request)
    messages = () if body is None else parse_texts(body)
    if body is None or not messages or not has_each_key_once(request.body, len(body) + 2 * len(messages)):
        return None
    wanted, stream, model = parse_limit(body), body.get("stream", False), str(body.get("model", "tgi"))
    deployment = find_served_deployment(tuple(service.deployments.values()), model)
    if wanted is None or type(stream) is not bool or deployment.state != "ready" or has_vision(deployment):
        return None
    count, language = service.count_texts(messages, deployment)
    try:
        limit = measure_limit(settings, deployment, count, wanted or None)
    except EmulatedError:
        return None
    options = ChatOptions(
        settings=settings,
        model=find_served(service).name if model == "tgi" else model,
        prompt_tokens=count,
        limit=limit,
        characters=sum([len(message.text) for message in messages]),
        usage=False,
        logprobs=False,
        top=0,
        call_id="0",
    )
    return InferenceCall(
        deployment,
        ChatRequest(messages, _SAMPLINGS[limit], language=language),
        ChatCodec(options),
        stream,
        (count,),
        True,
    )
