"""Size limits of the content cache."""

import numpy as np
import pytest

from emulator.core.plan import Choice, Logprob, PromptTokens, Tokens, Usage, undelayed
from emulator.generation.generate import Content, ContentCache


def _say(tokens: int, alternatives: int | None = None, prompt: int = 0) -> Content:
    weighed = None
    if alternatives is not None:
        weighed = (Logprob("a", -1.0, (("a", -1.0),) * alternatives),) * tokens
    choice = Choice(Tokens(("a",) * tokens, (1,) * tokens), undelayed(tokens), "stop", (), weighed)
    reported = (PromptTokens((), (), (Logprob("a", -1.0),) * prompt),) if prompt else ()
    return Content(Usage(0, tokens), (choice,), reported)


@pytest.mark.parametrize(
    ("draft", "kept"),
    [
        pytest.param(_say(4096), True, id="a long text"),
        pytest.param(_say(4097), False, id="a longer one"),
        pytest.param(_say(100, 20), True, id="some tokens with all their alternatives"),
        pytest.param(_say(200, 20), False, id="more of them"),
        pytest.param(_say(5, prompt=5000), False, id="a long prompt with it"),
        pytest.param(Content(Usage(1), vectors=np.zeros((1, 2), np.float32)), False, id="vectors"),
    ],
)
def test_content_cache_stores_only_small_content(draft: Content, kept: bool) -> None:
    drafts = ContentCache()
    drafts.keep(b"a", draft)
    assert drafts.find(b"a") is (draft if kept else None)


@pytest.mark.parametrize(
    ("draft", "most"),
    [
        pytest.param(_say(10), 512, id="light ones by their number"),
        pytest.param(_say(4096), 64, id="heavy ones by their weight"),
    ],
)
def test_content_cache_evicts_oldest(draft: Content, most: int) -> None:
    drafts = ContentCache()
    for number in range(600):
        drafts.keep(b"%d" % number, draft)
    assert [number for number in range(600) if drafts.find(b"%d" % number)] == [*range(600 - most, 600)]
