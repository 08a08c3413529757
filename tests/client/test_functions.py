"""Python functions as replies."""

import threading
from textwrap import dedent

import pytest

from emulator import start
from emulator.client import EmulatorClient, EmulatorError, ReplyCall
from emulator.core.reply_call import ReplyFunction
from tests.client.app import ask
from tests.test_pytest_plugin import run, suite

__all__ = ["suite"]


@pytest.mark.covers("promises/clients", "a function as reply")
def test_function_answers_outside_the_loop() -> None:
    seen: list[ReplyCall] = []
    with start() as emulator:

        def answer(call: ReplyCall) -> str:
            seen.append(call)
            assert threading.current_thread().name != "emulator"
            emulator.clock()  # it may ask the emulator itself
            return f"{call.prompt}, again: {call.attempt}"

        emulator.reply(answer, when={"prompt": {"prefix": "Say"}}, name="echo")
        assert [ask(emulator.url("databricks"), "Say it", max_tokens=50) for _ in range(2)] == [200, 200]
        calls = emulator.requests(rule="echo")
        assert [call.response.text for call in calls] == ["Say it, again: 1", "Say it, again: 2"]
        assert (seen[0].vendor, seen[0].messages[0]["role"], seen[0].body["max_tokens"]) == ("databricks", "user", 50)
        with emulator.session("a") as session:
            session.reply(lambda call: {"tool_calls": [{"name": "f"}], "finish_reason": "length"})
            ask(session.url("databricks"))
            last = session.last()
            assert ([call.name for call in last.response.tool_calls], last.finish_reason) == (["f"], "length")


def fail(function: ReplyFunction, error: type[Exception] | None = None) -> None:
    """Let a function answer a call, which is refused."""
    with start() as emulator:
        emulator.reply(function)
        assert ask(emulator.url("databricks")) == 500
        assert "The function of a reply failed" in str(emulator.last().response.body)
        if error is not None:
            raise error("block")


def test_an_exception_is_a_500_and_raised_on_leaving() -> None:
    with pytest.raises(ZeroDivisionError):
        fail(lambda call: str(1 // 0))
    with pytest.raises(KeyError, match="block"):
        fail(lambda call: str(1 // 0), KeyError)
    with pytest.raises(ValueError, match=r"txt: unknown key; did you mean text\?"):
        fail(lambda call: {"txt": "Hi"})
    with pytest.raises(ValueError, match="returned int; return a text"):
        fail(lambda call: 7)  # type: ignore[arg-type,return-value]


def test_functions_need_an_emulator_in_this_process() -> None:
    with start() as emulator, EmulatorClient(emulator.front) as client:
        with pytest.raises(EmulatorError, match="needs an emulator in this process"):
            client.reply(lambda call: "Hi")
        with pytest.raises(TypeError, match="pad: a function returns all keys"):
            emulator.reply(lambda call: "", pad=True)


def test_exception_of_a_function_fails_the_test(suite: pytest.Pytester) -> None:
    source = """
        def test_wrong(emulator):
            emulator.reply(lambda call: 1 / 0)
            assert ask(emulator.url("databricks")) == 500

        def test_fine(emulator):
            emulator.reply(lambda call: "Hi")
            assert ask(emulator.url("databricks")) == 200
    """
    result = run(suite, dedent(source))
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["E*ZeroDivisionError*", "FAILED test_it.py::test_wrong*"])
