"""Parameters of the generated tokenizers, one profile for each model family; ``tokenizer.py`` applies them."""

from collections.abc import Mapping
from dataclasses import field
from itertools import count
from types import MappingProxyType

from emulator.core.dataclass import fast_dataclass


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerProfile:
    """Parameters of the tokenizer of one model family.

    Fields:
        eos: end-of-sequence token; of a chat model, the one that ends a turn.
        per_text: special tokens around a text that goes through no chat template.
        template_base: tokens a chat template adds to a conversation: ``bos`` and the answer's header.
        template_per_message: tokens a chat template adds to each message.
        digits: maximum digits of one token.
        contractions: an English ending such as ``'s`` is one token.
        cjk: large enough to hold every CJK ideograph and Hangul syllable.
        special: ids of special tokens, which have no text.
        first_byte: id of the first byte token.
        printable_first: byte tokens are in the order of byte-level BPE, and the printable ASCII ones
            double as single characters; else they come by value and serve only as a fallback.
        fixed: ids that equal those of the real model family.
        late: further ones, given after all others have their ids, which stay as they are.
    """

    name: str
    vocabulary_size: int
    eos: int
    bos: int | None = None
    per_text: int = 0
    template_base: int = 3
    template_per_message: int = 4
    digits: int = 3
    contractions: bool = True
    cjk: bool = True
    special: range
    first_byte: int = 0
    printable_first: bool = True
    fixed: Mapping[str, int] = field(default_factory=dict)
    late: Mapping[str, int] = field(default_factory=dict)


# Source: MindIE "text/stream inference" page, samples of the answer and of the second stream.
_QWEN2_PIECES = {
    **{"My": 5050, " name": 829, " is": 374, " Olivier": 77018, " and": 323, " I": 358, "'m": 2776, " a": 264},
    **{" software": 3162, " engineer": 23576, " from": 504, " France": 9625, " love": 2948, " to": 311},
    **{" build": 1936, " things": 2513, " especially": 5310, " web": 3482, " applications": 8357, " mobile": 6371},
    **{" apps": 10500, " i": 600, " need": 1184, " you": 498},
    **{"Hello": 9707, " How": 2585, " can": 646, " assist": 7789, " today": 3351},
}
# Source: the same page, sample of the first stream. The run from 29871 agrees with it where it shows a letter.
_LLAMA2_PIECES = {
    **dict(zip(" etainorsldhcumpgf.by,wvk", count(29871), strict=False)),
    **{"'": 29915, " a": 263, " French": 5176, " gu": 1410, " who": 1058, " is": 338, " looking": 3063, " for": 363},
    **{" place": 2058, " to": 304, " live": 5735, " in": 297, " I": 306},
}
# Of the chat template. Its own id, 17057, would move the ids of all later pieces; this one no piece has.
_MISTRAL_PIECES = {"INST": 32767}

_PROFILES = (
    TokenizerProfile(
        name="llama3", vocabulary_size=128256, bos=128000, eos=128009, per_text=1, template_base=10,
        special=range(128000, 128256),
    ),
    TokenizerProfile(
        name="qwen2", vocabulary_size=151936, eos=151645, digits=1, special=range(151643, 151936), fixed=_QWEN2_PIECES
    ),
    TokenizerProfile(
        name="llama2", vocabulary_size=32000, bos=1, eos=2, per_text=1, template_base=1, template_per_message=5,
        digits=1, contractions=False, cjk=False, special=range(3), first_byte=3, printable_first=False,
        fixed=_LLAMA2_PIECES, late={"_": 29918},  # text-generation-inference, clients/python/tests/test_client.py
    ),
    TokenizerProfile(name="gpt", vocabulary_size=200019, eos=199999, special=range(199998, 200019)),
    TokenizerProfile(name="claude", vocabulary_size=65536, eos=65000, special=range(65000, 65536)),
    TokenizerProfile(name="mpt", vocabulary_size=50432, eos=50277, cjk=False, special=range(50254, 50432)),
    TokenizerProfile(
        name="bert", vocabulary_size=30522, bos=101, eos=102, per_text=2, contractions=False, cjk=False,
        special=range(104), first_byte=104, printable_first=False,
    ),
    TokenizerProfile(
        name="mistral", vocabulary_size=32768, bos=1, eos=2, per_text=1, template_base=1, digits=1,
        contractions=False, cjk=False, special=range(771), first_byte=771, printable_first=False,
        fixed=_MISTRAL_PIECES,
    ),
    TokenizerProfile(
        name="xlmr", vocabulary_size=250002, bos=0, eos=2, per_text=2, contractions=False, special=range(4),
        first_byte=4, printable_first=False,
    ),
)  # fmt: skip

PROFILES: Mapping[str, TokenizerProfile] = MappingProxyType({profile.name: profile for profile in _PROFILES})
