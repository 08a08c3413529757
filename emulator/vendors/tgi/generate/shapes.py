"""JSON members that streaming and complete responses of ``/``, ``/generate`` and ``/generate_stream`` share.

Source: text-generation-inference, ``router/src/lib.rs``; release 0.9.4 at its tag.
"""

from collections.abc import Iterator, Sequence

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.vendor import Tokenizer
from emulator.encoding.sse import encode_string
from emulator.protocols.tgi import choose_seed, encode_first, format_finish_reason, report_counts
from emulator.vendors.tgi.settings import TgiSettings

TOKEN = b'{"id":%d,"text":%b,"logprob":%b,"special":%b}'
# Text of the end-of-sequence token, by its id in each model family.
_ENDS = {128009: "<|eot_id|>", 151645: "<|im_end|>", 199999: "<|endoftext|>", 50277: "<|im_end|>"}
_BEGINNINGS = {128000: "<|begin_of_text|>"}


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions:
    """Render options of one request.

    Fields:
        limit: maximum tokens of the response; one that reaches it reports ``length``.
        array: a non-streaming response is an array of one object.
        prefill: token ids of the prompt, if the response shows them.
        echo: text in front of the response.
        characters: number of characters of the prompt as sent.
        seed: the request's seed; ``None``: draw one.
        seeded: the response has a seed; a greedy one has ``null``.
        top: number of alternatives listed for each token.
    """

    settings: TgiSettings
    tokenizer: Tokenizer
    prompt_tokens: int
    limit: int
    array: bool
    details: bool
    prefill: tuple[int, ...]
    echo: str
    characters: int
    seed: int | None
    seeded: bool
    top: int


def finish_reason(choice: Choice, limit: int) -> str:
    """Return ``finish_reason``; ``length`` takes precedence over any other end at the limit.

    Source: text-generation-inference, ``server/text_generation_server/utils/tokens.py``, StoppingCriteria.
    """
    return "length" if choice.count >= limit else format_finish_reason(choice)


def has_end(choice: Choice, eos: int) -> bool:
    """Return whether the choice ends with the end-of-sequence token."""
    return bool(choice.count) and choice.ids[-1] == eos and not choice.tokens[-1]


def special_text(tokenizer: Tokenizer, token: int) -> str:
    """Return the text of a special token; ``""`` for any other."""
    if token in tokenizer.specials:
        return tokenizer.specials[token]
    if token == tokenizer.eos:
        return _ENDS.get(token, "</s>")
    return _BEGINNINGS.get(token, "<s>") if token == tokenizer.bos else ""


def format_summary(plan: Plan, choice: Choice, options: GenerateOptions, number: int = 0) -> str:
    """Format the first members of ``details``; ``number``: index of the choice for one prompt."""
    key = plan.key if number == 0 else plan.key + bytes((number,))
    seed = choose_seed(key, options.seed) if options.seeded else "null"
    _, generated = report_counts(plan, 0, choice.count)
    return f'"finish_reason":"{finish_reason(choice, options.limit)}","generated_tokens":{generated},"seed":{seed}'


def list_columns(choice: Choice, tokenizer: Tokenizer) -> tuple[Sequence[object], ...]:
    """Return the columns that fill :data:`TOKEN`; only the end-of-sequence token is special."""
    texts = list(map(encode_string, choice.tokens))
    specials = [b"false"] * len(texts)
    if has_end(choice, tokenizer.eos):
        texts[-1] = encode_string(special_text(tokenizer, tokenizer.eos))
        specials[-1] = b"true"
    logprobs = [b"0.0"] * len(texts)
    if choice.logprobs:
        logprobs = dump_json([entry.logprob for entry in choice.logprobs])[1:-1].split(b",")
    return choice.ids, texts, logprobs, specials


def encode_top_tokens(choice: Choice, tokenizer: Tokenizer, top: int) -> Iterator[bytes]:
    """Yield the alternatives of each token as JSON."""
    columns = zip(*list_columns(choice, tokenizer), strict=True)
    for entry, (token, text, _, special) in zip(choice.logprobs or (), columns, strict=False):
        own = entry.token, token, text, special
        yield b",".join([_encode_top(own, alternative, tokenizer) for alternative in entry.top[:top]])


def _encode_top(own: tuple[str, object, object, object], alternative: tuple[str, float], tokenizer: Tokenizer) -> bytes:
    """Encode one alternative; ``own``: text of the sampled token, then its id, text and special as encoded."""
    sampled, token, text, special = own
    other, logprob = alternative
    if other == sampled:
        return TOKEN % (token, text, dump_json(logprob), special)
    return TOKEN % (encode_first(tokenizer, other), encode_string(other), dump_json(logprob), b"false")
