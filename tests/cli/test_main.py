"""The command line as a user types it."""

import inspect
from pathlib import Path

import pytest

from emulator import __version__
from emulator.cli import main
from emulator.core.text import escape


def test_main_without_verb_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "serve" in capsys.readouterr().out


def test_version_names_build(capsys: pytest.CaptureFixture[str]) -> None:
    build = "pure Python" if inspect.isfunction(escape) else "compiled"
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"emulator {__version__} ({build})\n")


def test_help_shows_flag_variable_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    text = capsys.readouterr().out
    assert "--log-level" in text
    assert "[EMULATOR_LOG_LEVEL] (default info)" in text


@pytest.mark.covers("promises/first steps", "a port out of range", case="a port there is not")
@pytest.mark.covers("promises/first steps", "TLS files that are not there", case="no certificate")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["serve", "--port", "x"], "--port takes a whole number", id="a port that is text"),
        pytest.param(["serve", "--ttft", "100"], "'100' is not a duration", id="a duration without a unit"),
        pytest.param(["serve", "no-such-file.yaml"], "no-such-file.yaml", id="a file that is not there"),
        pytest.param(["serve", "--state-url", "tape://reel"], "there are memory://", id="a store there is not"),
        pytest.param(
            ["serve", "--tls", "--tls-cert", "no.pem", "--tls-key", "no.key"],
            "cannot read no.pem: no such file",
            id="no certificate",
        ),
        pytest.param(["serve", "--port", "70000"], "0 takes free ports", id="a port there is not"),
        pytest.param(
            ["serve", "--port", "65533"], "the vendors take the 5 that follow it; try --port 0", id="too high a port"
        ),
        pytest.param(
            ["serve", "nope.yaml"], f"no such file or directory; looked in {Path.cwd()}", id="where it looked"
        ),
        pytest.param(["serve", "--report", "/nope/run.html"], "--report: cannot write /nope/run.html", id="no report"),
        pytest.param(["serve", "x" * 300], "file name too long", id="a file that cannot be"),
        pytest.param(["serve", "--scenario", "throtled-tenant"], "did you mean throttled-tenant?", id="no such lesson"),
        pytest.param(["check", "no-such-file.yaml"], "cannot read no-such-file.yaml: no such file", id="check nothing"),
        pytest.param(["check", "x" * 300], "file name too long", id="check what cannot be"),
        pytest.param(["explain", "no-such-file.yaml", "-"], "cannot read no-such-file.yaml", id="explain nothing"),
    ],
)
def test_wrong_usage_prints_one_line_and_exits_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["serve", "--no-such-flag"], id="an unknown flag"),
        pytest.param(["serve", "--log-level", "loud"], id="a choice that is none"),
        pytest.param(["env", "nobody"], id="an unknown vendor"),
        pytest.param(["no-such-verb"], id="an unknown verb"),
        pytest.param(["sweep", "--jobs", "0", "--", "true"], id="no jobs"),
        pytest.param(["sweep", "--max-runs", "-1", "--", "true"], id="runs below none"),
        pytest.param(["coverage", "a.json", "--fail-under", "nan"], id="a share that is none"),
    ],
)
def test_bad_flag_prints_one_line_and_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("command", ["health", "report --out r", "verdict", "export", "timeline a.yaml"])
@pytest.mark.parametrize("url", ["127.0.0.1:4010", "localhost", "ftp://localhost", "http://"])
def test_url_without_scheme_says_what_a_url_is(command: str, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([*command.split(), "--url", url])
    assert f"argument --url: expected a URL such as http://127.0.0.1:4010, not '{url}'" in capsys.readouterr().err


def test_scheme_of_a_url_has_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["health", "--url", "HTTP://127.0.0.1:1"]) == 1
    assert "expected a URL" not in capsys.readouterr().err


def test_missing_argument_is_named_without_optional_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["try"])
    assert "the following arguments are required: QUESTION; " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        pytest.param(["serv"], "serve", id="a verb spelled alike"),
        pytest.param(["env", "ovms"], "openvino", id="a vendor by another name"),
        pytest.param(["models", "databrick"], "databricks", id="a vendor spelled alike"),
        pytest.param(["serve", "--prot", "1"], "--port", id="a flag spelled alike"),
    ],
)
def test_misspelled_word_suggests_correction(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    error = capsys.readouterr().err
    assert error.endswith(f"; did you mean {meant}?\n")
    assert error.count("\n") == 1


def test_help_has_sections_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, wanted in (
        (
            ["serve", "--help"],
            ["\nscenario:\n", "\nnetwork:\n", "\ntimeouts:\n", "\nTLS:\n", "\nexamples:\n  emulator serve"],
        ),
        (["--help"], ["\ncommands:\n", "    completion ", "    init ", "    try ", "\nexamples:\n"]),
        (["explain", "--help"], ['{"vendor": "tgi"']),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        out = capsys.readouterr().out
        assert [text for text in wanted if text not in out] == []


def test_help_is_coloured_on_request(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    out = capsys.readouterr().out
    assert "\x1b[1mnetwork:\x1b[0m" in out
    assert "\x1b[36m--port-file FILE\x1b[0m" in out


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["check", "none"], id="check"),
        pytest.param(["explain", "none", "request.json"], id="explain"),
        pytest.param(["try", "Hello", "none"], id="try"),
        pytest.param(["serve", "none"], id="serve"),
        pytest.param(["import", "none", "--to", "folder"], id="import"),
        pytest.param(["diff", "none", "other"], id="diff"),
        pytest.param(["fit", "none"], id="fit"),
        pytest.param(["instance", "none"], id="instance"),
        pytest.param(["coverage", "none"], id="coverage"),
    ],
)
def test_file_that_is_missing_is_named_with_its_folder(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) != 0
    assert f"cannot read none: no such file or directory; looked in {tmp_path}\n" in capsys.readouterr().err
