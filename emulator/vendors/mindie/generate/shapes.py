"""JSON members shared by streaming and non-streaming responses of the TGI-style routes.

Source: MindIE documentation, "text/stream inference", samples and tables of both modes, and MindIE-LLM,
``mindie_llm/text_generator/utils/output_filter.py``.
"""

from collections.abc import Iterator

from emulator.core.dataclass import fast_dataclass
from emulator.core.plan import Choice
from emulator.core.vendor import Tokenizer
from emulator.protocols.tgi import choose_seed, format_finish_reason
from emulator.vendors.mindie.postprocess import Stops, quote_clean
from emulator.vendors.mindie.settings import MindieSettings

_SEED_BITS = 32


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class GenerateAnswer:
    """Render options of the TGI-style routes.

    Fields:
        limit: maximum tokens of the response; one that reaches it reports ``length``.
        prefill: token ids of the prompt, if requested.
        echo: text in front of the response, followed by a space; ``None``: no echo.
        seed: the request's seed; ``None``: draw one.
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
        """Encode ``generated_text``."""
        text = choice.text()
        return quote_clean(text if self.echo is None else f"{self.echo} {text}")

    def quote_finish(self, choice: Choice) -> bytes:
        return b'"%b"' % find_finish_reason(choice, self.limit, self.settings).encode()


def find_finish_reason(choice: Choice, limit: int, settings: MindieSettings) -> str:
    """Return ``finish_reason``; ``length`` takes precedence over any other end at the limit."""
    if choice.finish_reason == "content_filter":
        return settings.invalid_finish_reason
    return "length" if len(choice.tokens) >= limit else format_finish_reason(choice)


def find_seed(key: bytes, asked: int | None) -> int:
    """Return the request's seed, or one of 32 bits drawn from ``key``."""
    return choose_seed(key, asked, _SEED_BITS)


def encode_token_fields(choice: Choice, tokenizer: Tokenizer) -> Iterator[tuple[bytes, bytes]]:
    """Yield ``logprob`` and ``special`` of each token as JSON."""
    for index, token in enumerate(choice.ids):
        logprob = "null" if choice.logprobs is None else repr(choice.logprobs[index].logprob)
        yield logprob.encode(), b"true" if token == tokenizer.eos else b"false"
