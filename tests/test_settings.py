"""Flags, environment and defaults."""

from math import inf
from pathlib import Path

import pytest

from emulator.settings import Settings, SettingsError, load_settings

TLS: dict[str, object] = {"tls": "true"}


def test_defaults() -> None:
    assert load_settings({}, {}) == Settings()


@pytest.mark.parametrize(
    ("flags", "environment", "name", "value"),
    [
        pytest.param({"port": "5000"}, {}, "port", 5000, id="a flag"),
        pytest.param({}, {"EMULATOR_PORT": "5001"}, "port", 5001, id="a variable"),
        pytest.param({"port": "5000"}, {"EMULATOR_PORT": "5001"}, "port", 5000, id="a flag wins over a variable"),
        pytest.param({"seed": "7"}, {}, "seed", 7, id="a seed"),
        pytest.param({}, {"EMULATOR_TLS": "True"}, "tls", True, id="a boolean in any case"),
        pytest.param({}, {"EMULATOR_TLS": "0"}, "tls", False, id="a boolean as a digit"),
        pytest.param({"strict": "true"}, {}, "strict", True, id="a flag without a value"),
        pytest.param({}, {"EMULATOR_STRICT": "1"}, "strict", True, id="the same as a variable"),
        pytest.param({}, {}, "watch", None, id="by the terminal"),
        pytest.param({"watch": "false"}, {"EMULATOR_WATCH": "true"}, "watch", False, id="off by a flag"),
        pytest.param({}, {"EMULATOR_REPORT": "/x/run.html"}, "report", Path("/x/run.html"), id="a page"),
        pytest.param({}, {"EMULATOR_PORT_FILE": "/x/p.json"}, "port_file", Path("/x/p.json"), id="a path"),
        pytest.param({}, {"EMULATOR_LOG_LEVEL": "error"}, "log_level", "error", id="a choice"),
        pytest.param({"tls_dir": "/x"}, {}, "tls_dir", Path("/x"), id="a folder"),
        pytest.param({"tls_name": ["a", "b, c"], **TLS}, {}, "tls_name", ("a", "b", "c"), id="names, flag by flag"),
        pytest.param(TLS, {"EMULATOR_TLS_NAME": "a, b,"}, "tls_name", ("a", "b"), id="names between commas"),
        pytest.param({}, {"EMULATOR_TLS_NAME": ""}, "tls_name", (), id="no names"),
        pytest.param({"allow_host": ["a.test,*.b"]}, {}, "allow_host", ("a.test", "*.b"), id="hosts"),
        pytest.param({}, {"EMULATOR_CONTROL_TOKEN": "s3cret"}, "control_token", "s3cret", id="a token"),
        pytest.param({}, {"EMULATOR_CONTROL_TOKEN": ""}, "control_token", None, id="an empty token is none"),
        pytest.param({"drain": "1m"}, {}, "drain", 60.0, id="a duration"),
        pytest.param({"drain": "0s"}, {}, "drain", 0.0, id="no time at all"),
        pytest.param({}, {"EMULATOR_HEAD_TIMEOUT": "250ms"}, "head_timeout", 0.25, id="a duration as a variable"),
        pytest.param({"idle_timeout": "0s"}, {}, "idle_timeout", inf, id="no limit of time"),
        pytest.param({"paths": ["a.yaml", "b"]}, {}, "paths", (Path("a.yaml"), Path("b")), id="positional paths"),
    ],
)
def test_setting_is_read_from_flag_or_environment(
    flags: dict[str, object], environment: dict[str, str], name: str, value: object
) -> None:
    assert getattr(load_settings(flags, environment), name) == value


@pytest.mark.parametrize(
    ("flags", "environment", "message"),
    [
        pytest.param(
            {"port": "x"}, {}, "--port takes a whole number from 0 to 65535, not 'x'", id="a port that is text"
        ),
        pytest.param({"port": "65536"}, {}, "--port takes a whole number from 0 to 65535, not '65536'", id="too high"),
        pytest.param({"port": "-1"}, {}, "--port takes a whole number from 0 to 65535, not '-1'", id="negative"),
        pytest.param({}, {"EMULATOR_SEED": "1.5"}, "EMULATOR_SEED takes a whole number", id="a fractional seed"),
        pytest.param({}, {"EMULATOR_TLS": "yes"}, "EMULATOR_TLS takes 1, 0, true or false, not 'yes'", id="yes"),
        pytest.param(
            {}, {"EMULATOR_LOG_LEVEL": "loud"}, "takes debug, info, warning, error, not 'loud'", id="a choice"
        ),
        pytest.param({"allow_host": ["http://a"]}, {}, "--allow-host takes host names such as", id="a URL as a host"),
        pytest.param(
            {"allow_host": ["a.test:80"]}, {}, "--allow-host takes host names such as", id="a host with a port"
        ),
        pytest.param({"control_token": ""}, {}, "--control-token is empty", id="a token that was meant to be there"),
        pytest.param({"host": ""}, {}, "--host is empty", id="no host is not every address"),
        pytest.param({}, {"EMULATOR_HOST": ""}, "EMULATOR_HOST is empty", id="nor as a variable"),
        pytest.param({"port_file": ""}, {}, "--port-file is empty", id="a file without a name"),
        pytest.param({"control_token": "a b"}, {}, "--control-token takes letters of ASCII", id="a token with a blank"),
        pytest.param({"drain": "30"}, {}, "--drain: '30' is not a duration; write a number with a unit", id="no unit"),
        pytest.param({"tls": "true", "tls_cert": "c"}, {}, "--tls-cert and --tls-key go together", id="half a pair"),
        pytest.param({"tls_cert": "c", "tls_key": "k"}, {}, "--tls-cert needs --tls", id="a certificate without TLS"),
        pytest.param({}, {"EMULATOR_TLS_NAME": "a"}, "--tls-name needs --tls", id="a name without TLS"),
        pytest.param({**TLS, "tls_name": ["a"], "tls_cert": "c", "tls_key": "k"}, {}, "--tls-name is for", id="both"),
    ],
)
def test_invalid_setting_gives_one_line_error(
    flags: dict[str, object], environment: dict[str, str], message: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(flags, environment)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_variable_suggests_nearest() -> None:
    settings = load_settings({}, {"EMULATOR_PRT": "1", "OTHER": "2"})
    assert settings.unknown == ("EMULATOR_PRT is not a setting; did you mean EMULATOR_PORT?",)
