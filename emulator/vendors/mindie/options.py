"""Parse the fields that both OpenAI routes share besides the prompt, in the order the server checks them.

Source: MindIE-LLM, the ``SetupInferParams`` of both routes.
"""

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON
from emulator.core.requests import Deployment
from emulator.protocols.openai.messages import Format
from emulator.vendors.mindie import ranges
from emulator.vendors.mindie.chat.fields import parse_logprobs, parse_response_format
from emulator.vendors.mindie.decoder import Fields, parse_boolean, parse_unsigned
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.sampling import (
    SamplingFields,
    parse_max_tokens,
    parse_sampling,
    validate_choices,
    validate_completion_choices,
    validate_features,
)
from emulator.vendors.mindie.server_state import find_profile


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Parsed options of one request.

    Fields:
        logprobs: alternatives to list; ``None``: no log-probabilities.
        asked: requested maximum of completion tokens, before the limits of the deployment.
    """

    sampling: SamplingFields
    logprobs: int | None
    asked: int
    stream: bool
    form: Format
    schema: JSON


def parse_options(fields: Fields, service: MindieService, deployment: Deployment, *, chat: bool) -> Options:
    """Parse everything but the prompt; ``chat``: by the rules of the chat route."""
    settings = service.settings
    sampling = parse_sampling(fields, settings, chat=chat)
    logprobs = parse_logprobs(fields) if chat else parse_unsigned(fields, "logprobs", ranges.LOGPROBS)
    asked = parse_max_tokens(fields) or find_profile(service, deployment).answer
    stream = parse_boolean(fields, "stream") or False
    form, schema = parse_response_format(fields)
    if chat:
        validate_choices(sampling, stream=stream)
    else:
        validate_completion_choices(sampling, stream=stream)
    validate_features(sampling, settings, asked, logprobs)
    return Options(sampling=sampling, logprobs=logprobs, asked=asked, stream=stream, form=form, schema=schema)
