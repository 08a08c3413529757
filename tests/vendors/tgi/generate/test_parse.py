"""Echo of the prompt in a response."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.tgi.direct import PROMPT, ask, generate_options


@pytest.mark.covers("mindie/TGI beside it", "default of return_full_text", "prompt echo")
@pytest.mark.parametrize(
    ("section", "path", "parameters", "echo"),
    [
        pytest.param("", "/", {}, PROMPT, id="the root repeats the prompt of a model for text generation"),
        pytest.param("", "/", {"return_full_text": False}, "", id="unless switched off"),
        pytest.param("", "/generate", {}, "", id="other routes do not"),
        pytest.param("", "/generate", {"return_full_text": True}, PROMPT, id="unless switched on"),
        pytest.param("vendors: {tgi: {pipeline_tag: null}}\n", "/", {}, PROMPT, id="an unknown tag repeats in 3"),
        pytest.param(
            "vendors: {tgi: {profile: '0.9.4', pipeline_tag: null}}\n", "/", {}, "", id="and does not in 0.9.4"
        ),
        pytest.param("vendors: {tgi: {pipeline_tag: text2text-generation}}\n", "/", {}, "", id="nor does another tag"),
    ],
)
def test_prompt_echo(section: str, path: str, parameters: JSON, echo: str) -> None:
    assert generate_options(path, ask(parameters), section).echo == echo
