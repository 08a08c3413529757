"""Patterns put together by chance, and short texts to try them on."""

from hypothesis import strategies as st

_ATOMS = st.sampled_from(
    ["a", "b", "[ab]", "[^a]", ".", "\\d", "\\w", "\\s", "\\b", "^", "$", "(?=a)", "(?!b)", "(?!ab$)"]
)


def _grow(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.tuples(part, part).map("".join)
        | st.tuples(part, part).map(lambda p: f"(?:{p[0]}|{p[1]})")
        | st.tuples(part, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])).map(lambda p: f"(?:{p[0]}){p[1]}")
    )


PATTERNS = st.recursive(_ATOMS, _grow, max_leaves=6)
TEXTS = st.text("ab1 -\n", max_size=7)
