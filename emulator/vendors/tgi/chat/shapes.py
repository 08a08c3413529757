"""Build the JSON objects that streaming and complete chat responses share.

Source: text-generation-inference, ``router/src/lib.rs`` (ChatCompletion, ChatCompletionChunk).
"""

from collections.abc import Sequence

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import JSON, Object
from emulator.core.plan import Choice, Logprob, Plan
from emulator.encoding.sse import encode_string
from emulator.encoding.template import SAMPLE_NAME
from emulator.protocols.tgi import report_counts
from emulator.vendors.tgi.chat.calls import is_call
from emulator.vendors.tgi.generate.shapes import finish_reason, has_end
from emulator.vendors.tgi.settings import TgiSettings


@fast_dataclass(frozen=True, slots=True)
class NoCall:
    """Call of no tool: its tokens, and the lengths of the prompt without tools with which the model is asked again."""

    tokens: tuple[str, ...]
    prompt_tokens: int
    characters: int


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """Render options of one chat request.

    Fields:
        limit: maximum tokens of the response; one that reaches it reports ``length``.
        characters: number of characters of all messages.
        usage: the stream ends with a chunk of token counts.
        top: number of alternatives listed for each token.
        call_id: id of a streamed tool call; ``None``: draw one.
        eos: id of the end-of-sequence token, and its text.
        no_call: first answer of a model that may call no tool and calls none; ``None``: it has one answer.
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
    eos: tuple[int, str]
    no_call: NoCall | None = None


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
    eos=(2, "</s>"),
)


def list_values(plan: Plan, options: ChatOptions, text: bytes = b"") -> tuple[int | bytes, ...]:
    """Return the values for the template of plain text responses, in the order of its slots."""
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


def build_chat_usage(plan: Plan, options: ChatOptions, generated: int | None = None) -> JSON:
    """Build the token counts; a call of no tool reports the prompt of the second answer.

    Args:
        generated: tokens of the answer, if not those of the plan.
    """
    choice = plan.choices[0]
    counts = report_counts(plan, options.prompt_tokens, choice.count if generated is None else generated)
    return build_usage(count_prompt(counts[0], choice, options), counts[1])


def count_prompt(reported: int, choice: Choice, options: ChatOptions) -> int:
    """Return the tokens of the prompt that was answered last, unless the scenario reports others."""
    second = options.no_call is not None and not is_call(choice) and reported == options.prompt_tokens
    return options.no_call.prompt_tokens if second and options.no_call is not None else reported


def list_texts(choice: Choice, options: ChatOptions, tokens: Sequence[str]) -> Sequence[str]:
    """Return the texts of tokens as the model has them: the end of the sequence has one, too."""
    return [*tokens[:-1], options.eos[1]] if has_end(choice, options.eos[0]) else tokens


def build_logprobs(entries: Sequence[Logprob], top: int, texts: Sequence[str]) -> JSON:
    """Build the log-probabilities of tokens with these texts; those of the model, which the response may not have."""
    return {"content": [_build_logprob(entry, top, text) for entry, text in zip(entries, texts, strict=False)]}


def _build_logprob(entry: Logprob, top: int, text: str) -> JSON:
    tops: list[JSON] = [
        {"token": text if other == entry.token else other, "logprob": logprob} for other, logprob in entry.top[:top]
    ]
    return {"token": text, "logprob": entry.logprob, "top_logprobs": tops}
