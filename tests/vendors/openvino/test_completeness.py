"""The cases of chats are in the list of rows, whole."""

from tests.completeness import read_rows
from tests.vendors.openvino.completeness import TESTS
from tests.vendors.openvino.test_cases import CHATS


def test_every_case_of_a_chat_is_listed() -> None:
    listed = {
        row for (_, row), test in read_rows({"cases": TESTS["cases"]}, "openvino").items() if "::test_chat" in test
    }
    assert listed == {name.partition(" ")[0] for name in CHATS}
