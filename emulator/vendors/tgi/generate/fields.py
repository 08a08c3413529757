"""Declare the bodies of ``POST /``, ``/generate`` and ``/generate_stream``: fields, types and defaults.

Source: text-generation-inference, ``router/src/lib.rs``; release 0.9.4 at its tag.
"""

from collections.abc import Sequence
from functools import partial

from emulator.core.dataclass import fast_dataclass
from emulator.vendors.tgi import decoder as serde
from emulator.vendors.tgi.decoder import Field
from emulator.vendors.tgi.grammar import GrammarType, grammar_type


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Fields of ``GenerateParameters``; OpenAI-style requests are converted to it."""

    best_of: int | None = None
    temperature: float | None = None
    repetition_penalty: float | None = None
    frequency_penalty: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    typical_p: float | None = None
    do_sample: bool = False
    max_new_tokens: int | None = None
    return_full_text: bool | None = None
    stop: Sequence[str] = ()
    truncate: int | None = None
    watermark: bool = False
    details: bool = False
    decoder_input_details: bool = False
    seed: int | None = None
    top_n_tokens: int | None = None
    grammar: GrammarType | None = None
    adapter_id: str | None = None


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest:
    """Fields of ``GenerateRequest`` and, with ``stream``, of ``CompatGenerateRequest``."""

    inputs: str
    parameters: Parameters
    stream: bool = False


_PARAMETERS: Sequence[Field] = (
    Field("best_of", serde.option(serde.usize)),
    Field("temperature", serde.option(serde.f32)),
    Field("repetition_penalty", serde.option(serde.f32)),
    Field("frequency_penalty", serde.option(serde.f32)),
    Field("top_k", serde.option(serde.i32)),
    Field("top_p", serde.option(serde.f32)),
    Field("typical_p", serde.option(serde.f32)),
    Field("do_sample", serde.boolean),
    Field("max_new_tokens", serde.option(serde.u32)),
    Field("return_full_text", serde.option(serde.boolean)),
    Field("stop", serde.sequence(serde.string)),
    Field("truncate", serde.option(serde.usize)),
    Field("watermark", serde.boolean),
    Field("details", serde.boolean),
    Field("decoder_input_details", serde.boolean),
    Field("seed", serde.option(serde.u64)),
    Field("top_n_tokens", serde.option(serde.u32)),
    Field("grammar", serde.option(grammar_type)),
    Field("adapter_id", serde.option(serde.string)),
)
NOT_IN_0_9 = ("frequency_penalty", "top_n_tokens", "grammar", "adapter_id")  # fields added after 0.9.4
_OLD_PARAMETERS = tuple(
    Field(f.name, serde.u32) if f.name == "max_new_tokens" else f for f in _PARAMETERS if f.name not in NOT_IN_0_9
)


def _build_type(fields: Sequence[Field]) -> serde.Type[Parameters]:
    return serde.build(Parameters, serde.struct("GenerateParameters", fields, flat=True))


def _request_type(name: str, parameters: Sequence[Field], *, stream: bool, sample: bool) -> serde.Type[GenerateRequest]:
    """Return the type of a request; ``sample``: ``do_sample`` if there are no parameters."""
    fields = [Field("inputs", serde.string, required=True), Field("parameters", _build_type(parameters))]
    if stream:
        fields.append(Field("stream", serde.boolean))
    make = partial(GenerateRequest, parameters=Parameters(do_sample=sample))
    return serde.build(make, serde.struct(name, fields, flat=True))


PARAMETERS = _build_type(_PARAMETERS)
COMPAT = _request_type("CompatGenerateRequest", _PARAMETERS, stream=True, sample=True)
PLAIN = _request_type("GenerateRequest", _PARAMETERS, stream=False, sample=True)
OLD_COMPAT = _request_type("CompatGenerateRequest", _OLD_PARAMETERS, stream=True, sample=False)
OLD_PLAIN = _request_type("GenerateRequest", _OLD_PARAMETERS, stream=False, sample=False)
