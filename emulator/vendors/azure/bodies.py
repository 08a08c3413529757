"""Request models of ``/completions`` and ``/embeddings``, whose prompts and inputs are texts or token ids.

Sources: Azure Machine Learning reference, Completions and Embeddings; Azure/azure-rest-api-specs,
specification/ai/ModelInference.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field, PlainValidator, TypeAdapter

from emulator.core.json import JSON
from emulator.core.requests import Deployment
from emulator.vendors.azure.decoder import Integer, WireModel
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.profile import AzureService
from emulator.vendors.azure.sampling import SamplingFields

TokenIds = Annotated[list[Annotated[int, Field(strict=True, ge=0)]], Field(min_length=1)]
Texts = str | list[str] | TokenIds | list[TokenIds]
_STRINGS: TypeAdapter[list[str]] = TypeAdapter(Annotated[list[str], Field(min_length=1)])
_TOKENS: TypeAdapter[list[int]] = TypeAdapter(TokenIds)
_TOKEN_LISTS: TypeAdapter[list[list[int]]] = TypeAdapter(list[TokenIds])


def _read_texts(value: JSON) -> Texts:
    """Parse a text, a list of texts, token ids or lists of them; the first element decides."""
    if isinstance(value, str):
        return value
    first = value[0] if isinstance(value, list) and value else None
    if isinstance(first, list):
        return _TOKEN_LISTS.validate_python(value)
    if isinstance(first, int) and not isinstance(first, bool):
        return _TOKENS.validate_python(value)
    return _STRINGS.validate_python(value)


class Prompted(WireModel):
    """Base of completion bodies; pydantic lists the violations of ``prompt`` first."""

    prompt: Annotated[Texts, PlainValidator(_read_texts)]


class CompletionBody(SamplingFields, Prompted):
    """``POST /completions``."""


class StrictCompletionBody(CompletionBody):
    model_config = ConfigDict(strict=True)


class EncodingFormat(StrEnum):
    float = "float"
    base64 = "base64"
    int8 = "int8"
    uint8 = "uint8"
    binary = "binary"
    ubinary = "ubinary"


class InputType(StrEnum):
    text = "text"
    query = "query"
    document = "document"


class Embedded(WireModel):
    """Base of embedding bodies; pydantic lists the violations of ``input`` first."""

    input: Annotated[Texts, PlainValidator(_read_texts)]


class EmbeddingOptions(WireModel):
    """Fields that text and image embeddings share."""

    dimensions: Annotated[Integer, Field(gt=0)] | None = None
    encoding_format: Annotated[EncodingFormat, Field(strict=False)] | None = None
    input_type: Annotated[InputType, Field(strict=False)] | None = None
    model: str | None = None

    @property
    def encoding(self) -> str:
        return "float" if self.encoding_format is None else self.encoding_format.value


class EmbeddingBody(EmbeddingOptions, Embedded):
    """``POST /embeddings``."""


class StrictEmbeddingBody(EmbeddingBody):
    model_config = ConfigDict(strict=True)


class Picture(WireModel):
    """An image as a data URL, with an optional text."""

    image: str
    text: str | None = None


class Pictures(WireModel):
    """Base of image embedding bodies; pydantic lists the violations of ``input`` first."""

    input: Annotated[list[Picture], Field(min_length=1)]


class ImageEmbeddingRequest(EmbeddingOptions, Pictures):
    """``POST /images/embeddings``."""


class StrictImageEmbeddingRequest(ImageEmbeddingRequest):
    model_config = ConfigDict(strict=True)


def parse_inputs(texts: Texts) -> tuple[str | tuple[int, ...], ...]:
    """Return one entry per prompt or input; a flat list of numbers is the token ids of one."""
    if isinstance(texts, str):
        return (texts,)
    if isinstance(texts[0], int):
        return (tuple(texts),)
    return tuple([text if isinstance(text, str) else tuple(text) for text in texts])


def validate_tokens(
    texts: Sequence[str | tuple[int, ...]], name: str, service: AzureService, deployment: Deployment
) -> None:
    """Raise if a token id is not in the model's vocabulary."""
    for ids in texts:
        if not isinstance(ids, str) and max(ids) >= service.tokenizer(deployment).vocabulary_size:
            raise refusals.not_supported((name,), list(ids))
