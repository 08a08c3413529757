"""What answers of the TGI-style routes hold, whole or streamed.

Source: MindIE documentation, "text/stream inference", samples and tables of both modes, and MindIE-LLM,
``mindie_llm/text_generator/utils/output_filter.py``.
"""

from collections.abc import Iterator

from emulator.core.dataclass import fast_dataclass
from emulator.core.plan import Choice
from emulator.core.vendor import Tokenizer
from emulator.protocols.tgi import pick_seed, reason
from emulator.vendors.mindie.postprocess import Stops, quote_clean
from emulator.vendors.mindie.settings import MindieSettings

_SEED_BITS = 32


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class GenerateAnswer:
    """What an answer depends on beside what is said.

    Fields:
        limit: most tokens of the answer; one that reaches it reports ``length``.
        prefill: ids of the prompt, if asked for.
        echo: goes in front of the answer, with a space.
        seed: as asked, or ``None``: one is drawn.
    """

    prompt_tokens: int
    limit: int
    details: bool
    prefill: tuple[int, ...]
    echo: str | None
    seed: int | None
    stops: Stops
    tokenizer: Tokenizer
    settings: MindieSettings

    def quote_text(self, choice: Choice) -> bytes:
        """``generated_text`` as JSON."""
        text = choice.text()
        return quote_clean(text if self.echo is None else f"{self.echo} {text}")

    def quote_finish(self, choice: Choice) -> bytes:
        return b'"%b"' % name_finish(choice, self.limit, self.settings).encode()


def name_finish(choice: Choice, limit: int, settings: MindieSettings) -> str:
    """``finish_reason``: the limit is looked at last, so it hides an end that falls on it."""
    if choice.finish_reason == "content_filter":
        return settings.invalid_finish_reason
    return "length" if len(choice.tokens) >= limit else reason(choice)


def show_seed(key: bytes, asked: int | None) -> int:
    """The request's own seed, or one of 32 bits drawn for it."""
    return pick_seed(key, asked, _SEED_BITS)


def describe_tokens(choice: Choice, tokenizer: Tokenizer) -> Iterator[tuple[bytes, bytes]]:
    """``logprob`` and ``special`` of each token, as JSON."""
    for index, token in enumerate(choice.ids):
        logprob = "null" if choice.logprobs is None else repr(choice.logprobs[index].logprob)
        yield logprob.encode(), b"true" if token == tokenizer.eos else b"false"
