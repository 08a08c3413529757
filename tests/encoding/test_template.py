"""Templates are filled as the shape they are made from is encoded."""

import pytest

from emulator.core.json import dump_json
from emulator.encoding.template import SAMPLE_TEXT, Template, split_chunk
from tests.untyped_json import JSON


def _encode(text: str, count: int) -> bytes:
    shape: JSON = {"count": count, "text": text, "constant": "100 % %d %b", "again": [count, {"text": text}]}
    return dump_json(shape)


@pytest.mark.parametrize("text", ["", "Hello", 'It\'s 100 % "so"\n', "é潮\\%d"])
def test_filling_equals_encoding(text: str) -> None:
    template = Template(_encode(SAMPLE_TEXT, 4711), (4711, dump_json(SAMPLE_TEXT), b"no part of it", b""))
    assert template.fill((5, dump_json(text), b"unused", b"unused")) == _encode(text, 5)


def test_chunk_is_split_at_its_text() -> None:
    assert split_chunk(_encode("", 5).replace(b'"text":""}', b'"text":"%b"}' % SAMPLE_TEXT.encode())) == (
        b'{"count":5,"text":"","constant":"100 % %d %b","again":[5,{"text":',
        b"}]}",
    )
