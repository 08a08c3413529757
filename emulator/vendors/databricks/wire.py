"""What every inference request goes through: its body, its endpoint, its fields, its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.core.call import Ask, Deployment, Sampling
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON
from emulator.core.seed import draw_uniform
from emulator.core.vendor import Service, WireRequest
from emulator.dialects.openai import read_stop
from emulator.vendors.databricks.catalogue import Family, family_of, is_agent, is_custom, trait
from emulator.vendors.databricks.errors import NO_ENDPOINT
from emulator.vendors.databricks.fields import INTEGER, NUMBER, OBJECT, STRING, Shape, Struct, check_shape, refuse
from emulator.vendors.databricks.settings import DatabricksSettings

# Fields the serving API itself defines and takes beside every task's own. Source: databricks-sdk,
# ``serving_endpoints.query``; mlflow adds ``databricks_options``.
COMMON: dict[str, Shape] = {
    "model": STRING,
    "client_request_id": STRING,
    "usage_context": OBJECT,
    "extra_params": OBJECT,
    "databricks_options": OBJECT,
}
# No trace of a refusal was found for these; every model takes them unless unknown fields are refused everywhere.
TOLERATED: dict[str, Shape] = {
    "seed": INTEGER,
    "frequency_penalty": NUMBER,
    "presence_penalty": NUMBER,
    "logit_bias": OBJECT,
}
# Fields of one family, which are unknown to every other.
_OWNED: dict[str, frozenset[Family]] = {
    "cache_control": frozenset({"claude"}),
    "thinking": frozenset({"claude"}),
    "output_config": frozenset({"claude"}),
    "google_search": frozenset({"gemini"}),
    "reasoning_effort": frozenset({"gpt-oss", "gpt", "gemini"}),
}
_STRICT = ("open", "gpt-oss")
_DEEPEST = 150  # levels; Go's own bound is 10,000


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One request to one endpoint, as far as all tasks are alike."""

    request: WireRequest
    service: Service[Any]
    body: JSON
    deployment: Deployment
    served: str

    @property
    def settings(self) -> DatabricksSettings:
        settings: DatabricksSettings = self.service.settings
        return settings

    @property
    def family(self) -> Family:
        return family_of(self.deployment)

    def get(self, name: str, default: JSON = None) -> JSON:
        """A field; ``null`` counts as absent."""
        value = self.body.get(name)
        return default if value is None else value

    def check(self, fields: Struct) -> None:
        """Refuse the first unknown or mistyped field."""
        if self.settings.strict_unknown_fields == "on":
            fields = Struct({name: shape for name, shape in fields.fields.items() if name not in TOLERATED})
        check_shape(self.body, fields, "", self.allow)

    def allow(self, path: str, name: str) -> bool:
        """Whether a field that no table lists may stay."""
        mode = self.settings.strict_unknown_fields
        family = self.family
        owners = _OWNED.get(name)
        if mode == "off":
            return True
        if mode == "on" or (owners is not None and family not in owners):
            return False
        foreign = self.deployment.mode in ("external", "custom") or is_agent(self.deployment)
        return foreign or family not in _STRICT

    @property
    def lists(self) -> bool:
        """Whether ``content`` may be a list of parts."""
        return self.settings.content_lists == "model" and bool(trait(self.deployment, "content_parts"))


def read_body(request: WireRequest, limit: int) -> dict[str, JSON]:
    """The JSON object of a request.

    Raises:
        EmulatedError: it is too large, or not a JSON object.
    """
    if len(request.body) > limit:
        raise EmulatedError(ErrorKind.PAYLOAD_TOO_LARGE, details={"limit": limit})
    try:
        body = request.json()
    except (ValueError, RecursionError) as error:
        text = f"Bad request: invalid JSON: {error}"
        raise EmulatedError(ErrorKind.INVALID_REQUEST, text) from None
    if _nests_deeply(request.body, body):
        raise EmulatedError(ErrorKind.INVALID_REQUEST, "Bad request: invalid JSON: exceeded max depth")
    if not isinstance(body, dict):
        check_shape(body if body is not None else [], Struct(), "", lambda _path, _name: True)
    result: dict[str, JSON] = body
    return result


def _nests_deeply(text: bytes, body: JSON) -> bool:
    """Whether values stand inside one another further than any answer could repeat them."""
    if text.count(b"[") + text.count(b"{") <= _DEEPEST:
        return False
    level = [body]
    for _ in range(_DEEPEST):
        inner = [v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list)]
        level = [value for values in inner for value in values]
        if not level:
            return False
    return True


def find_named(request: WireRequest, service: Service[Any]) -> Query:
    """The query of ``/serving-endpoints/{name}/…``."""
    deployment = find_deployment(request.params["name"], service)
    settings: DatabricksSettings = service.settings
    limit = settings.payload_limit_bytes * (4 if is_custom(deployment) else 1)
    body = read_body(request, limit)
    return Query(request, service, body, deployment, pick_served(request, deployment))


def find_by_model(request: WireRequest, service: Service[Any]) -> Query:
    """The query of an OpenAI-style route: ``model`` names the endpoint."""
    body = read_body(request, service.settings.payload_limit_bytes)
    model = body.get("model")
    if model is None or model == "":
        raise refuse("Missing required parameter: 'model'", "model")
    if not isinstance(model, str):
        check_shape(body, Struct({"model": STRING}), "", lambda _path, _name: True)
    deployment = find_deployment(str(model), service)
    return Query(request, service, body, deployment, pick_served(request, deployment))


def find_deployment(name: str, service: Service[Any]) -> Deployment:
    """An endpoint that can be asked.

    Raises:
        EmulatedError: there is none of that name, or it is not up.
    """
    deployment = service.deployments.get(name)
    if deployment is None or deployment.state == "retired":
        raise EmulatedError(ErrorKind.NOT_FOUND, NO_ENDPOINT)
    if deployment.state == "stopped":
        raise refuse(f"Endpoint {name} is stopped. Start the endpoint before sending requests.")  # unverified
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY)
    return deployment


def served_entities(deployment: Deployment) -> dict[str, float]:
    """Names of what stands behind an endpoint, and each one's share of the traffic."""
    listed = trait(deployment, "served_entities")
    if isinstance(listed, dict) and listed:
        return {str(name): float(share) if isinstance(share, int | float) else 0.0 for name, share in listed.items()}
    if isinstance(listed, list) and listed:
        return {str(name): 1.0 for name in listed}
    return {deployment.name: 100.0}


def pick_served(request: WireRequest, deployment: Deployment) -> str:
    """The served entity that answers: the one the path names, else one by its share of the traffic."""
    entities = served_entities(deployment)
    named = request.params.get("served")
    if named is not None:
        if named not in entities:
            raise EmulatedError(ErrorKind.NOT_FOUND, NO_ENDPOINT)
        return named
    if len(entities) == 1:
        return next(iter(entities))
    rest = draw_uniform(request.key, "served") * sum(entities.values())
    for name, share in entities.items():
        rest -= share
        if rest < 0:
            return name
    return next(iter(entities))


def check_range(query: Query, name: str, low: float, high: float, *, open_low: bool = False) -> None:
    """A number within bounds, the lower one left out if ``open_low``."""
    value = query.get(name)
    if value is None or (low < value <= high) or (value == low and not open_low):
        return
    raise refuse(f"Bad request: {name} must be in {'(' if open_low else '['}{low:g}, {high:g}], but got {value}", name)


def check_positive(query: Query, name: str) -> None:
    value = query.get(name)
    if value is not None and value < 1:
        raise refuse(f"Bad request: {name} must be greater than 0, but got {value}", name)


def check_sampling(query: Query) -> None:
    """The knobs that chat and completions share, in the order of the reference's table."""
    check_positive(query, "max_tokens")
    check_range(query, "temperature", 0, 2)
    check_range(query, "top_p", 0, 1, open_low=not query.settings.top_p_zero)
    check_positive(query, "top_k")
    check_n(query)


def check_n(query: Query) -> None:
    """Several answers are for provisioned throughput, unless the endpoint's trait ``allow_n`` says otherwise."""
    check_positive(query, "n")
    n = query.get("n", 1)
    if n == 1:
        return
    allowed = query.deployment.traits.get("allow_n")
    if not (query.deployment.mode != "pay_per_token" if allowed is None else allowed):
        raise refuse("Bad request: n is only supported for provisioned throughput endpoints", "n")
    if n > query.settings.max_n:
        raise refuse(f"Bad request: n cannot exceed {query.settings.max_n}", "n")


def read_sampling(query: Query, limit: int | None, logprobs: int | None = None) -> Sampling:
    """Sampling of a checked chat or completions request."""
    temperature = query.get("temperature", 1)
    knobs: list[tuple[str, JSON]] = []
    for name, default in (("temperature", 1), ("top_p", 1), ("top_k", None), *_PENALTIES):
        value = query.get(name, default)
        if value != default:
            knobs.append((name, float(value) if isinstance(value, int) and name != "top_k" else value))
    seed = query.get("seed")
    return Sampling(
        max_tokens=limit,
        greedy=temperature == 0 or query.get("top_k") == 1,
        seed=seed if isinstance(seed, int) else None,
        knobs=tuple(knobs),
        stop=tuple(stop for stop in read_stop(query.get("stop")) if stop),
        n=query.get("n", 1),
        logprobs=logprobs,
    )


_PENALTIES = (("frequency_penalty", 0), ("presence_penalty", 0), ("logit_bias", None))


def check_output_limit(query: Query, name: str, wanted: int | None) -> None:
    """More output tokens than the model gives are refused, in the words of who serves it.

    Sources: databricks-sdk-go issue 1183 for Llama; public traces for the others.
    """
    most = query.deployment.max_output
    if wanted is None or most is None or wanted <= most:
        return
    family = query.family
    model = query.deployment.model or query.deployment.name
    if family == "claude":
        text = f"{name}: {wanted} > {most}, which is the maximum allowed number of output tokens for {model}"
    elif family == "gpt":
        text = (
            f"{name} is too large: {wanted}. This model supports at most {most} completion tokens,"
            f" whereas you provided {wanted}."
        )
    elif trait(query.deployment, "output_limit") == "new":
        text = f"max_new_tokens {wanted} cannot be greater than max_output_tokens {most}.\n"
    else:
        text = (
            f"Bad request: rpc error: code = InvalidArgument desc = max_tokens ({wanted}) cannot exceed {most}."
            " Please reduce the length of max output tokens generated."
        )
    raise refuse(text, name)


def prompt_too_long(query: Query, count: int, name: str = "messages") -> EmulatedError:
    """Source: public traces; the part after the number of the first text is lost in them."""
    context = query.deployment.context
    family = query.family
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


def limit_output(query: Query, wanted: int | None, prompt_tokens: int) -> int | None:
    """Most tokens of an answer: the request's, the endpoint's, and what its context has left."""
    deployment = query.deployment
    if wanted is None and query.settings.model_max_tokens:
        wanted = deployment.default_max_tokens
    room = None if deployment.context is None else max(0, deployment.context - prompt_tokens)
    limits = [limit for limit in (wanted, deployment.max_output, room) if limit is not None]
    return min(limits) if limits else None


def count(query: Query, ask: Ask) -> tuple[int, ...]:
    """Tokens of each prompt; a trait ``template_overhead_tokens`` adds a server-side template's."""
    counts = query.service.count_prompt(ask, query.deployment)
    extra = query.deployment.traits.get("template_overhead_tokens")
    return tuple(number + extra for number in counts) if isinstance(extra, int) else counts
