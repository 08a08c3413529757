"""Validate and parse sampling parameters, and limit output tokens, for all generative routes."""

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, Object, as_number, as_text
from emulator.core.requests import InferenceRequest, Sampling
from emulator.vendors.databricks.decoder import error_parameter
from emulator.vendors.databricks.profile import DeploymentProfile
from emulator.vendors.databricks.request import ParsedRequest

# Fields that change the text, with the values that do not. Other sampling fields are parsed by name.
_PARAMETERS: tuple[tuple[str, JSON], ...] = (
    ("temperature", 1),
    ("top_p", 1),
    ("top_k", None),
    ("frequency_penalty", 0),
    ("presence_penalty", 0),
    ("logit_bias", None),
)
_BOUNDED = frozenset({"temperature", "top_p", "top_k", "n", "frequency_penalty", "presence_penalty"})
_SAMPLED = frozenset({"seed", "stop", "n", *(name for name, _ in _PARAMETERS)})


def validate_range(parsed: ParsedRequest, name: str, low: float, high: float, *, open_low: bool = False) -> None:
    """Raise for a number out of bounds; ``open_low`` excludes the lower one."""
    value = parsed.body.get(name)
    if value is None or (low < (number := as_number(value)) <= high) or (number == low and not open_low):
        return
    raise error_parameter(
        f"Bad request: {name} must be in {'(' if open_low else '['}{low:g}, {high:g}], but got {value}", name
    )


def validate_positive(parsed: ParsedRequest, name: str) -> None:
    """Raise for an integer below 1."""
    value = parsed.body.get(name)
    if isinstance(value, int) and value < 1:
        raise error_parameter(f"Bad request: {name} must be greater than 0, but got {value}", name)


def validate_sampling(parsed: ParsedRequest) -> None:
    """Validate the numbers that chat and completions share, in the order of the reference's table."""
    validate_positive(parsed, "max_tokens")
    if _BOUNDED.isdisjoint(parsed.body):
        return
    validate_range(parsed, "temperature", 0, 2)
    validate_range(parsed, "top_p", 0, 1, open_low=not parsed.settings.top_p_zero)
    validate_positive(parsed, "top_k")
    _validate_n(parsed)
    validate_range(parsed, "frequency_penalty", -2, 2)
    validate_range(parsed, "presence_penalty", -2, 2)


def validate_family(parsed: ParsedRequest) -> None:
    """Raise for fields that a family rejects.

    Source: databricks-sdk-py issue 1263 and public notes on the newest models.
    """
    if parsed.traits.get("fixed_sampling"):
        for name in ("temperature", "top_p", "top_k"):
            if parsed.get(name) is not None:
                raise error_parameter(f"{name} is not supported with this model.", name)  # unverified
    if parsed.family != "gpt":
        return
    if parsed.settings.gpt_refuses_temperature and parsed.get("temperature") is not None:
        raise error_parameter("Unsupported parameter: 'temperature' is not supported with this model.", "temperature")
    if parsed.settings.gpt_refuses_max_tokens and parsed.get("max_tokens") is not None:
        text = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
        raise error_parameter(text, "max_tokens")


def validate_alternatives(parsed: ParsedRequest) -> None:
    """Validate ``top_logprobs``."""
    top = parsed.get_integer("top_logprobs")
    if top is not None and not 0 <= top <= 20:
        raise error_parameter(f"Bad request: top_logprobs must be between 0 and 20, but got {top}", "top_logprobs")


def _validate_n(parsed: ParsedRequest) -> None:
    """Validate ``n``: a setting or the trait ``allow_n`` decides about pay-per-token endpoints."""
    n = parsed.get_integer("n")
    if n is None or n == 1:
        return
    validate_positive(parsed, "n")
    allowed = parsed.deployment.traits.get("allow_n")
    chats = parsed.deployment.task == "chat" and parsed.settings.pay_per_token_n
    default_allowed = chats or parsed.deployment.mode != "pay_per_token"
    if not (default_allowed if allowed is None else allowed):
        raise error_parameter("Bad request: n is only supported for provisioned throughput endpoints", "n")
    if n > parsed.settings.max_n:
        raise error_parameter(f"Bad request: n cannot exceed {parsed.settings.max_n}", "n")


def parse_sampling(parsed: ParsedRequest, limit: int | None, logprobs: int | None = None) -> Sampling:
    """Return the sampling of a validated chat or completions request."""
    body = parsed.body
    if _SAMPLED.isdisjoint(body):
        return Sampling(max_tokens=limit, logprobs=logprobs)
    get = body.get
    stop = get("stop")
    return Sampling(
        max_tokens=limit,
        greedy=get("temperature") == 0 or get("top_k") == 1,
        seed=parsed.get_integer("seed"),
        parameters=_parse_parameters(body),
        stop=tuple([as_text(text) for text in (stop if isinstance(stop, list) else [stop]) if text]),  # null is ""
        n=parsed.get_integer("n") or 1,
        logprobs=logprobs,
    )


def _parse_parameters(body: Object) -> tuple[tuple[str, JSON], ...]:
    """Return the parameters that differ from their defaults; ``1`` and ``1.0`` are equal."""
    parameters: list[tuple[str, JSON]] = []
    for name, default in _PARAMETERS:
        value = body.get(name)
        if value is not None and value != default:
            parameters.append((name, float(value) if type(value) is int and name != "top_k" else value))
    return tuple(parameters)


def validate_output_limit(parsed: ParsedRequest, name: str, wanted: int | None) -> None:
    """Raise for more output tokens than the model's maximum, with the text of the model's host.

    Sources: databricks-sdk-go issue 1183 for Llama; public traces for the others.
    """
    max_output = parsed.deployment.max_output
    if wanted is None or max_output is None or wanted <= max_output:
        return
    family = parsed.family
    model = parsed.deployment.model or parsed.deployment.name
    if family == "claude":
        model = f"anthropic.{model.removeprefix('databricks-')}"  # the text has the model's name at its host
        text = f"{name}: {wanted} > {max_output}, which is the maximum allowed number of output tokens for {model}"
    elif family == "gpt":
        text = (
            f"{name} is too large: {wanted}. This model supports at most {max_output} completion tokens,"
            f" whereas you provided {wanted}."
        )
    elif parsed.traits.get("output_limit") == "new":
        text = f"max_new_tokens {wanted} cannot be greater than max_output_tokens {max_output}.\n"
    else:
        text = (
            f"Bad request: rpc error: code = InvalidArgument desc = max_tokens ({wanted}) cannot exceed {max_output}."
            " Please reduce the length of max output tokens generated."
        )
    raise error_parameter(text, name)


def error_length(profile: DeploymentProfile, count: int, name: str = "messages") -> EmulatedError:
    """Return the error of a prompt that is too long. Source: public traces, where the first text ends at the number."""
    context = profile.deployment.context
    family = profile.family
    if family in ("claude", "gemini"):
        text = f"prompt is too long: {count} tokens > {context} maximum"
    elif family == "gpt":
        text = (
            f"Input tokens exceed the configured limit of {context} tokens."
            f" Your messages resulted in {count} tokens. Please reduce the length of the messages."
        )
    else:
        text = (
            "Bad request: rpc error: code = InvalidArgument desc = "
            f"prompt token count ({count}) cannot exceed {context}."
        )
    return EmulatedError(ErrorKind.CONTEXT_LENGTH, text, name)


def limit_output(profile: DeploymentProfile, wanted: int | None, prompt_tokens: int) -> int | None:
    """Return the maximum of output tokens: the least of the request's, the endpoint's and the remaining context."""
    deployment = profile.deployment
    context, most = deployment.context, deployment.max_output
    if wanted is None and profile.settings.model_max_tokens:
        wanted = deployment.default_max_tokens
    if wanted is None or (most is not None and most < wanted):
        wanted = most
    if context is None:
        return wanted
    remaining = context - prompt_tokens if context > prompt_tokens else 0
    return remaining if wanted is None or remaining < wanted else wanted


def count_prompts(parsed: ParsedRequest, ask: InferenceRequest) -> tuple[int, ...]:
    """Return the number of tokens of each prompt, those of a server-side template included."""
    counts = parsed.service.count_prompt(ask, parsed.deployment)
    extra = parsed.profile.overhead
    return tuple([number + extra for number in counts]) if extra else counts
