"""The table of token counts."""

from tests.tools.tokens import collect_texts, measure


def test_profile_differs_from_itself_in_nothing() -> None:
    texts = collect_texts()
    assert measure("gpt", "gpt", texts["en_US"]) == (0.0, 0.0)
    assert measure("gpt", "llama2", texts["Python"])[0] != 0.0
    assert all(all(each) for each in texts.values())
