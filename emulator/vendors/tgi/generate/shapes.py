"""What answers of ``/``, ``/generate`` and ``/generate_stream`` are made of, in one piece or event by event.

Source: text-generation-inference, ``router/src/lib.rs``; release 0.9.4 at its tag.
"""

from collections.abc import Iterator, Sequence

from emulator.core.dataclass import fast_dataclass
from emulator.core.json import dump_json
from emulator.core.plan import Choice, Plan
from emulator.core.vendor import Tokenizer
from emulator.encoding.sse import quote
from emulator.protocols.tgi import encode_first, pick_seed, reason, report_counts
from emulator.vendors.tgi.settings import TgiSettings

TOKEN = b'{"id":%d,"text":%b,"logprob":%b,"special":%b}'
# Names of the end of a sequence, by its id in the families' vocabularies.
_ENDS = {128009: "<|eot_id|>", 151645: "<|im_end|>", 199999: "<|endoftext|>", 50277: "<|im_end|>"}
_BEGINNINGS = {128000: "<|begin_of_text|>"}


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions:
    """How the answer to one request is worded.

    Fields:
        limit: most tokens of the answer; one that reaches it reports ``length``.
        array: an answer in one piece is an array of one object.
        prefill: ids of the prompt, if they are shown.
        echo: goes in front of the answer.
        characters: of the prompt as sent.
        seed: as asked, or ``None``: one is drawn.
        seeded: the answer tells its seed, which a greedy one does not.
        top: likeliest tokens listed beside each token.
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
    """The limit is looked at first, so it hides an end that falls on it.

    Source: text-generation-inference, ``server/text_generation_server/utils/tokens.py``, StoppingCriteria.
    """
    return "length" if choice.count >= limit else reason(choice)


def special_text(tokenizer: Tokenizer, token: int) -> str:
    """How a special token is spelled; the text of any other is ``""`` here."""
    if token == tokenizer.eos:
        return _ENDS.get(token, "</s>")
    return _BEGINNINGS.get(token, "<s>") if token == tokenizer.bos else ""


def write_summary(plan: Plan, choice: Choice, options: GenerateOptions, number: int = 0) -> str:
    """The first members of ``details``; ``number`` counts the answers to one prompt."""
    key = plan.key if number == 0 else plan.key + bytes((number,))
    seed = pick_seed(key, options.seed) if options.seeded else "null"
    _, generated = report_counts(plan, 0, choice.count)
    return f'"finish_reason":"{finish_reason(choice, options.limit)}","generated_tokens":{generated},"seed":{seed}'


def list_columns(choice: Choice, tokenizer: Tokenizer) -> tuple[Sequence[object], ...]:
    """What goes into :data:`TOKEN`, token by token; only the end of the sequence is special."""
    texts = list(map(quote, choice.tokens))
    specials = [b"false"] * len(texts)
    if texts and choice.ids[-1] == tokenizer.eos and not choice.tokens[-1]:
        texts[-1] = quote(special_text(tokenizer, tokenizer.eos))
        specials[-1] = b"true"
    weights = [b"0.0"] * len(texts)
    if choice.logprobs:
        weights = dump_json([entry.logprob for entry in choice.logprobs])[1:-1].split(b",")
    return choice.ids, texts, weights, specials


def write_top_tokens(choice: Choice, tokenizer: Tokenizer, top: int) -> Iterator[bytes]:
    """The likeliest tokens in each token's place."""
    columns = zip(*list_columns(choice, tokenizer), strict=True)
    for entry, (token, text, _, special) in zip(choice.logprobs or (), columns, strict=False):
        own = entry.token, token, text, special
        yield b",".join([_write_top(own, alternative, tokenizer) for alternative in entry.top[:top]])


def _write_top(own: tuple[str, object, object, object], alternative: tuple[str, float], tokenizer: Tokenizer) -> bytes:
    """One of the likeliest; ``own``: the text of the sampled token, and its id, text and special as they are shown."""
    said, token, text, special = own
    other, weight = alternative
    if other == said:
        return TOKEN % (token, text, dump_json(weight), special)
    return TOKEN % (encode_first(tokenizer, other), quote(other), dump_json(weight), b"false")
