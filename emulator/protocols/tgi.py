"""Parts that the vendors TGI and MindIE share: finish reasons, counts, seeds, tokens, the served model.

MindIE has routes modelled on those of Hugging Face text-generation-inference (TGI).
"""

from collections.abc import Sequence

from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import FieldNames
from emulator.core.plan import Choice, Plan
from emulator.core.requests import Deployment
from emulator.core.rng import draw_integer, draw_uniform
from emulator.core.vendor import H, S, Service, Tokenizer

# Source: text-generation-inference, clients/python/text_generation/errors.py and router/src/infer/mod.rs.
ERROR_TYPES = {422: "validation", 424: "generation", 429: "overloaded", 500: "incomplete_generation"}

FIELDS = FieldNames(
    text=frozenset({"generated_text", "text"}),
    usage=tuple(
        (inner, name)
        for inner in ("details", "best_of_sequences")
        for name in ("generated_tokens", "prompt_tokens", "input_length")
    ),
    finish=(("finish_reason",),),
    generated=("generated_tokens",),
    counts=("prompt_tokens",),
)


def format_finish_reason(choice: Choice) -> str:
    """Return ``finish_reason``: ``eos_token``, ``stop_sequence`` or ``length``."""
    if choice.finish_reason == "length":
        return "length"
    return "eos_token" if choice.stopped_by is None else "stop_sequence"


def report_counts(plan: Plan, prompt: int, generated: int) -> tuple[int, int]:
    """Return the prompt and completion tokens to report.

    The counts of the arguments, unless the scenario fixed the plan's usage.
    """
    usage = plan.usage
    true = sum([choice.count for choice in plan.choices])
    fixed = usage.completion_tokens not in (0, true)
    return usage.prompt_tokens or prompt, usage.completion_tokens if fixed else generated


def choose_seed(key: bytes, asked: int | None, bits: int = 64) -> int:
    """Return the seed of the request, or a drawn one of ``bits`` bits."""
    return asked if asked is not None else draw_integer(key, 2**bits, "seed")


def split_prompt(tokenizer: Tokenizer, text: str) -> list[tuple[int, str]]:
    """Return id and text of each prompt token, the begin-of-sequence token first."""
    rows = list(zip(tokenizer.encode(text), tokenizer.pieces(text), strict=True))
    return rows if tokenizer.bos is None else [(tokenizer.bos, ""), *rows]


def join_prompt(rows: Sequence[tuple[int, str]]) -> tuple[str, tuple[int, ...]]:
    """Return text and ids of a prompt that was split and truncated."""
    return "".join(text for _, text in rows), tuple(token for token, _ in rows)


def decode_each(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """Return the text of each id by itself."""
    return [tokenizer.decode([token]) for token in ids]


def draw_prefill_logprob(key: bytes, position: int) -> float | None:
    """Return the log-probability of a prompt token; ``None`` for the first."""
    return -round(12.0 * draw_uniform(key, "prefill", position) ** 2, 6) if position else None


def encode_first(tokenizer: Tokenizer, text: str) -> int:
    """Return the first token id of a text; 0 for a text without tokens."""
    ids = tokenizer.encode(text)
    return int(ids[0]) if ids else 0


def find_served_deployment(deployments: Sequence[Deployment], adapter: str = "") -> Deployment:
    """Return the deployment with which a server of one model answers.

    The last deployment wins, so a scenario's own precedes the built-in one. Deployments of kind ``lora`` are adapters
    and answer only where a request names them.
    """
    for deployment in deployments:
        if deployment.kind == "lora" and deployment.name == adapter:
            return deployment
    models = [deployment for deployment in deployments if deployment.kind != "lora"]
    return (models or list(deployments))[-1]


def find_served(service: Service[S, H]) -> Deployment:
    """Return the deployment for a request that names none."""
    deployments = tuple(service.deployments.values())
    newest = deployments[-1]
    return find_served_deployment(deployments) if newest.kind == "lora" else newest


def validate_ready(deployment: Deployment) -> Deployment:
    """Return the deployment if it is ready.

    Raises:
        EmulatedError: it is loading, stopped or retired.
    """
    if deployment.state != "ready":
        raise EmulatedError(ErrorKind.NOT_READY, details={"state": deployment.state})
    return deployment


def count_running(service: Service[S, H]) -> int:
    """Return the number of calls in progress; requests of other kinds do not count."""
    return sum(service.metrics.working(name) for name in service.deployments)


def count_answers(service: Service[S, H]) -> int:
    """Return the number of answers being generated; a call of several prompts or choices generates several."""
    return sum(service.metrics.generating(name) for name in service.deployments)


def count_waiting(service: Service[S, H]) -> int:
    """Return the number of waiting requests, without the current one."""
    return max(0, service.metrics.in_flight() - 1 - count_running(service))


def count_calls(service: Service[S, H], name: str) -> float:
    """Return the number of calls that reached a deployment: ``requests``, or by status class (``2xx``)."""
    return sum(service.metrics.total(name, deployment=deployment, served="") for deployment in service.deployments)
