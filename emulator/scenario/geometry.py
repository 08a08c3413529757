"""Models of ``deployments[].embeddings`` in a scenario: which texts have near vectors, and which a query finds.

``models.py`` has the deployments; ``generation/embeddings/`` makes the vectors, from the geometry built here.
"""

from typing import Annotated, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from emulator.core.geometry import Geometry, Kind, Near, Ranking, normalize
from emulator.core.units import StrictModel, require
from emulator.scenario.conditions import Pattern
from emulator.scenario.regex import compile_regex


def _check_text(text: str) -> str:
    require(bool(normalize(text)), "expected a text that is not blank")
    return text


Name = Annotated[str, AfterValidator(_check_text)]
"""A text, or the id of one of ``texts``."""
Texts = Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
_Cosine = Annotated[float, Field(strict=False, ge=-1, le=1)]


class NearEntry(StrictModel):
    """Cosine of the vectors of two texts."""

    a: Name = Field(description="A text, or its id.")
    b: Name = Field(description="The other text, or its id.")
    cosine: _Cosine = Field(description="Their similarity, exact to 0.001.")


class QueryEntry(StrictModel):
    """Texts that a query finds, nearest first; every other declared text is farther away than the last."""

    text: Name | None = Field(default=None, description="The query, or its id.")
    pattern: Pattern | None = Field(
        default=None, description="A regular expression; every text that it matches is this query."
    )
    ranks: Texts = Field(description="Texts or their ids, nearest first.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        require((self.text is None) != (self.pattern is None), "expected one of text and pattern")
        return self


def _tag_queries(value: object) -> str:
    return "<several>" if isinstance(value, list | tuple) else "<one>"


Queries = Annotated[
    Annotated[QueryEntry, Tag("<one>")]
    | Annotated[tuple[QueryEntry, ...], Field(strict=False, min_length=1), Tag("<several>")],
    Discriminator(_tag_queries),
]


class EmbeddingSettings(StrictModel):
    """What the vectors of a model mean."""

    geometry: Kind = Field(
        default="hashed",
        description="hashed: nothing; lexical: texts with the same words are close; declared: as written here.",
    )
    otherwise: Kind | None = Field(
        default=None, description="The geometry of texts that are not declared; lexical if absent, or hashed."
    )
    texts: dict[str, Name] = Field(
        default_factory=dict, description="Short ids for long texts; use an id wherever a text is expected."
    )
    clusters: dict[str, Texts] = Field(
        default_factory=dict, description="Texts that are close (0.8), and far from those of other clusters (0.1)."
    )
    near: Annotated[tuple[NearEntry, ...], Field(strict=False)] = Field(
        default=(), description="Pairs of texts with their cosine."
    )
    query: Queries | None = Field(
        default=None, description="One or several queries, each with the texts that it finds."
    )
    captions: dict[str, Name] = Field(
        default_factory=dict, description="Text in place of an image, by the SHA-256 of its bytes or by its URL."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        declares = bool(self.clusters or self.near or self._queries)
        require(declares == (self.geometry == "declared"), "clusters, near and query go with geometry: declared")
        require(self.otherwise is None or declares, "otherwise goes with geometry: declared")
        require(self.otherwise != "declared", "otherwise is lexical or hashed")
        seen: dict[str, str] = {}
        for name, texts in self.clusters.items():
            for text in texts:
                require(seen.setdefault(self._text(text), name) == name, "a text is in one cluster only")
        for query in self._queries:
            ranks = [self._text(text) for text in query.ranks]
            require(len({*ranks}) == len(ranks), "a text has one rank only")
            require(query.text is None or self._text(query.text) not in ranks, "a query is not among its ranks")
        return self

    @property
    def _queries(self) -> tuple[QueryEntry, ...]:
        return (self.query,) if isinstance(self.query, QueryEntry) else self.query or ()

    def _text(self, name: str) -> str:
        return normalize(self.texts.get(name, name))

    def to_geometry(self) -> Geometry:
        """Build the geometry, with normalized texts in place of their ids."""
        return Geometry(
            kind=self.geometry,
            otherwise=self.otherwise or "lexical",
            clusters={
                name: tuple(dict.fromkeys(self._text(text) for text in texts)) for name, texts in self.clusters.items()
            },
            near=tuple([Near(self._text(pair.a), self._text(pair.b), pair.cosine) for pair in self.near]),
            rankings=tuple([self._to_ranking(query) for query in self._queries]),
            captions=self.captions,
            key=self.model_dump_json(),
        )

    def _to_ranking(self, query: QueryEntry) -> Ranking:
        ranks = tuple([self._text(text) for text in query.ranks])
        if query.text is not None:
            return Ranking(self._text(query.text), ranks)
        pattern = query.pattern or ""
        return Ranking(f"/{pattern}/", ranks, compile_regex(pattern, False))
