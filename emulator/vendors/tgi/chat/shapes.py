"""JSON objects shared by streaming and non-streaming chat responses.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatCompletion, ChatCompletionChunk).
"""

from collections.abc import Sequence

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object
from emulator.core.plan import Choice, Logprob, Plan
from emulator.encoding.sse import encode_string
from emulator.encoding.template import SAMPLE_NAME
from emulator.protocols.tgi import report_counts
from emulator.vendors.tgi.generate.shapes import finish_reason
from emulator.vendors.tgi.settings import TgiSettings


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """Render options of one chat request.

    Fields:
        limit: maximum tokens of the response; one that reaches it reports ``length``.
        characters: number of characters of all messages.
        usage: the stream ends with a chunk of token counts.
        top: number of alternatives listed for each token.
        call_id: id of a streamed tool call; ``None``: draw one.
    """

    settings: TgiSettings
    model: str
    prompt_tokens: int
    limit: int
    characters: int
    usage: bool
    logprobs: bool
    top: int
    call_id: str | None


SAMPLE_OPTIONS = ChatOptions(
    settings=TgiSettings(version=SAMPLE_NAME),
    model=SAMPLE_NAME,
    prompt_tokens=0,
    limit=3,
    characters=0,
    usage=False,
    logprobs=False,
    top=0,
    call_id=None,
)


def list_values(plan: Plan, options: ChatOptions, text: bytes = b"") -> tuple[int | bytes, ...]:
    """Return what differs between plain text responses."""
    choice = plan.choices[0]
    prompt, completion = report_counts(plan, options.prompt_tokens, choice.count)
    return (
        int(plan.created),
        encode_string(options.model),
        encode_string(options.settings.fingerprint),
        find_finish_reason(choice, options.limit).encode(),
        prompt,
        completion,
        prompt + completion,
        text,
    )


def find_finish_reason(choice: Choice, limit: int) -> str:
    """Return OpenAI's ``finish_reason``; ``stop_sequence`` of a stop string keeps TGI's name."""
    name = finish_reason(choice, limit)
    return "stop" if name == "eos_token" else name


def build_head(plan: Plan, options: ChatOptions, kind: str) -> Object:
    """Build the first members of each response and chunk."""
    return {
        "object": kind,
        "id": "",
        "created": int(plan.created),
        "model": options.model,
        "system_fingerprint": options.settings.fingerprint,
    }


def build_usage(prompt: int, completion: int) -> JSON:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def build_chat_usage(plan: Plan, options: ChatOptions) -> JSON:
    return build_usage(*report_counts(plan, options.prompt_tokens, plan.choices[0].count))


def build_logprobs(entries: Sequence[Logprob], top: int) -> JSON:
    return {"content": [_build_logprob(entry, top) for entry in entries]}


def _build_logprob(entry: Logprob, top: int) -> JSON:
    tops: list[JSON] = [{"token": text, "logprob": logprob} for text, logprob in entry.top[:top]]
    return {"token": entry.token, "logprob": entry.logprob, "top_logprobs": tops}
