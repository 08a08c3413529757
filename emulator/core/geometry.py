"""What the vectors of an embedding model mean: declared cosines and rankings of texts, in normalized form.

``scenario/geometry.py`` has the YAML models, ``generation/embeddings/declared.py`` builds the vectors.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Literal

from emulator.core.dataclass import fast_dataclass

Kind = Literal["hashed", "lexical", "declared"]
_BLANK = re.compile(r"\s+")


def normalize(text: str) -> str:
    """Return the form by which declared texts are found: case, kinds of blanks and of composed characters are alike."""
    return _BLANK.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold()


@fast_dataclass(frozen=True, slots=True, eq=False)
class Near:
    """Cosine of two texts."""

    a: str
    b: str
    cosine: float


@fast_dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Texts by falling cosine to a query; all other declared texts are farther away than the last.

    ``query``: normalized text of the query, or a pattern. ``matches``: returns whether a text matches the pattern.
    """

    query: str
    ranks: tuple[str, ...]
    matches: Callable[[str], bool] | None = None


@fast_dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """What the vectors of a model mean; texts are normalized.

    Fields:
        kind: ``hashed``: cosines mean nothing; ``lexical``: texts with the same words are close; ``declared``: cosines
            are those given here.
        otherwise: kind of the texts that are not declared.
        captions: text in place of an image, by the SHA-256 of the image or by its URL.
        key: equal for equal geometries.
    """

    kind: Kind = "hashed"
    otherwise: Kind = "lexical"
    clusters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    near: tuple[Near, ...] = ()
    rankings: tuple[Ranking, ...] = ()
    captions: Mapping[str, str] = field(default_factory=dict)
    key: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Geometry) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def list_texts(self) -> list[str]:
        """Return the declared texts and patterns, each once."""
        named = [text for texts in self.clusters.values() for text in texts]
        named += [text for pair in self.near for text in (pair.a, pair.b)]
        named += [text for ranking in self.rankings for text in (ranking.query, *ranking.ranks)]
        return [*dict.fromkeys(named)]
