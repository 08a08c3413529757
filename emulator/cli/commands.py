"""Command line of ``emulator``: every command with its flags, and the call of the module that runs it.

The module of a command is imported when it runs, so that ``--help`` is fast.
"""

import argparse
import errno
import gc
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from emulator.cli.choices import FORMATS, MODES, SHELLS, VENDOR_NAMES
from emulator.cli.help import HelpFormatter, format_examples
from emulator.cli.version import format_version
from emulator.cli.workflow import break_commands
from emulator.core.text import escape
from emulator.settings import (
    FRONT_PORT,
    LOG_FORMATS,
    LOG_LEVELS,
    STATE_LOSSES,
    Settings,
    SettingsError,
    load_settings,
    variable,
)

_Group = argparse._ActionsContainer


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0 on success, 1 on a negative result, 2 on wrong usage, 130 on interrupt."""
    try:
        try:
            return _run(arguments)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # else the interpreter does it as it ends, and prints what fails
    except OSError as error:
        if not _is_closed_pipe(error):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # drop what is still buffered
        return 1


def _run(arguments: Sequence[str] | None) -> int:
    if sys.stdout is not None and sys.stdout.encoding != "utf-8":
        from emulator.cli.encoding import prepare_output

        prepare_output()
    parser = build_parser()
    parser.words = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(arguments)
    if options.verb is None:
        parser.print_help()
        return 2
    try:
        settings = load_settings(vars(options))
        for line in settings.unknown:
            print(break_commands(f"emulator: warning: {escape(line)}"), file=sys.stderr)
        return int(options.run(options, settings))
    except SettingsError as error:
        print(break_commands(f"emulator: error: {escape(str(error))}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _is_closed_pipe(error: OSError) -> bool:
    """Return whether the reader of the output has closed it; of a pipe, Windows says EINVAL (python/cpython#79935)."""
    return isinstance(error, BrokenPipeError) or (
        sys.platform == "win32" and error.errno == errno.EINVAL and error.filename is None
    )


def build_parser() -> "_ArgumentParser":
    """Build the parser with every command and flag."""
    parser = _ArgumentParser(
        prog="emulator",
        description="An offline stand-in for LLM-serving vendors.",
        epilog=_EXAMPLES["emulator"],
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=format_version(), help="print the version")
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", title="commands", prog="emulator")
    for name, (text, add, run) in _VERBS.items():
        sentence = f"{text[:1].upper()}{text[1:]}."
        verb = verbs.add_parser(
            name, help=text, description=sentence, epilog=_EXAMPLES.get(name), formatter_class=HelpFormatter
        )
        verb.set_defaults(run=run)
        if add is not None:
            add(verb)
    return parser


_EXAMPLES = {
    "emulator": format_examples(
        ("emulator init", "a scenario, its schema and a test to begin with"),
        ("emulator serve scenarios/starter.yaml", "serve it; emulator serve --help lists the settings"),
        ('emulator try "What are tides?" scenarios', "what would be answered, and why"),
    ),
    "serve": format_examples(
        ("emulator serve", "every vendor, with plain responses, on ports 4010 to 4015"),
        ("emulator serve scenarios --scenario busy", "one scenario of a folder"),
        ("emulator serve busy.yaml --port 0 --port-file urls.json", "free ports, written to a file"),
        ("emulator serve --strict --report run.html busy.yaml", "refuse unmatched calls, and keep a report"),
    ),
    "check": format_examples(
        ("emulator check scenarios", "each file of the folder by itself"),
        ("emulator check --strict --join a.yaml b.yaml", "both as one scenario; a warning fails"),
    ),
    "try": format_examples(
        ('emulator try "What are tides?"', "the first vendor, without a scenario"),
        ('emulator try "Do rivers end?" busy.yaml --vendor azure --stream', "a stream of Azure under a scenario"),
    ),
    "init": format_examples(("emulator init", "in this folder"), ("emulator init demo", "in a new one")),
    "explain": 'REQUEST.json, for example:\n  {"vendor": "tgi", "path": "/v1/chat/completions",\n'
    '   "body": {"model": "tgi", "messages": [{"role": "user", "content": "Hi"}]}}\n\n'
    + format_examples(("emulator explain busy.yaml request.json", "the result of each rule")),
    "env": format_examples(
        ('eval "$(emulator env databricks)"', "in a shell"),
        ("emulator env azure --format dotenv > .env", "as a file"),
    ),
    "sweep": format_examples(
        ("emulator sweep --vendor azure -- python -m app", "a table of what the program survives"),
        ("emulator sweep --jobs 2 --html sweep.html --failures failures -- pytest -q tests", "two at a time; a page"),
    ),
    "coverage": format_examples(
        ("emulator coverage run.html", "of a page that pytest --emulator-report wrote"),
        ("emulator coverage unit.json e2e.json --fail-under 50", "of two runs of tests together"),
    ),
    "verdict": format_examples(("emulator verdict --session a", "exit status 1 if a client broke a rule")),
    "record": format_examples(
        ("emulator record --to calls databricks=https://adb-1.azuredatabricks.net", "then point your client here"),
    ),
    "import": format_examples(("emulator import cassette.yaml --to calls", "a cassette of vcrpy as exchanges")),
    "diff": format_examples(
        ("emulator diff monday tuesday", "two recordings"),
        ("emulator diff calls --against databricks", "a recording and the emulator"),
    ),
    "export": format_examples(("emulator export --format har > run.har", "what a browser's tools open")),
    "timeline": format_examples(
        ("emulator timeline outages.yaml --out outages.svg", "when each outage is"),
        ("emulator timeline outages.yaml --url http://127.0.0.1:4010 --out run.svg", "and what clients did beneath"),
    ),
    "report": format_examples(("emulator report --out run.html", "the calls of a running emulator")),
}


class _ArgumentParser(argparse.ArgumentParser):
    """Argument parser that prints errors as one line.

    Fields:
        words: the arguments that are parsed.
    """

    words: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """Print the error of an argument; an unknown flag is an error of the whole parser."""
        verb = next((word for word in self.words if word in _VERBS), None) if self.prog == "emulator" else None
        command = self.prog if verb is None else f"{self.prog} {verb}"
        meant = _suggest(message)
        if verb is not None:
            meant = meant or _suggest_flag(message, self._find_command(verb))
        line = f"{self.prog}: error: {message}; {meant or f'see {command} --help'}"
        self.exit(2, f"{break_commands(escape(line))}\n")

    def _find_command(self, verb: str) -> argparse.ArgumentParser:
        actions = self._subparsers._group_actions if self._subparsers is not None else []
        return next(
            (action.choices[verb] for action in actions if isinstance(action, argparse._SubParsersAction)), self
        )


def _suggest(message: str) -> str:
    """Return a suggestion for an invalid choice; empty if there is none."""
    found = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
    if found is None:
        return ""
    from emulator.scenario.errors import find_nearest_name

    meant = find_nearest_name(found[1], [word.strip(" '") for word in found[2].split(",")])
    return f"did you mean {meant}?" if meant else ""


def _suggest_flag(message: str, parser: argparse.ArgumentParser) -> str:
    """Return a suggestion for an unknown flag; empty if there is none."""
    found = re.match(r"unrecognized arguments: (--[\w-]+)", message)
    if found is None:
        return ""
    from emulator.scenario.errors import find_nearest_name

    meant = find_nearest_name(found[1], [name for name in parser._option_string_actions if name.startswith("--")])
    return f"did you mean {meant}?" if meant else ""


def _url(text: str) -> str:
    if re.match(r"(?i)https?://[^/]", text) is None:
        raise argparse.ArgumentTypeError(f"expected a URL such as http://127.0.0.1:{FRONT_PORT}, not {text!r}")
    return text


def _count(text: str, least: int = 1) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a whole number from {least}, not {text!r}")
    return int(text)


def _count_or_none(text: str) -> int:
    return _count(text, 0)


def _percent(text: str) -> float:
    try:
        percent = float(text)
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 100, not {text!r}")
    return percent


def _parse_duration(flag: str, text: str) -> float:
    from emulator.core.units import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise SettingsError(f"{flag}: {error}") from None


def _text(what: str, name: str, default: object) -> str:
    return f"{what} [{variable(name)}] (default {default})"


def _add_serve(serve: argparse.ArgumentParser) -> None:
    serve.usage = "emulator serve [PATH ...] [--flag VALUE ...]"
    serve.add_argument(
        "paths", nargs="*", default=[], metavar="PATH", help="scenario files or folders; none: plain responses"
    )
    _add_scenario_flags(serve.add_argument_group("scenario"))
    _add_network_flags(serve.add_argument_group("network"))
    _add_control_flags(serve.add_argument_group("console and control API"))
    _add_times(serve.add_argument_group("timeouts"))
    _add_replica_flags(serve.add_argument_group("workers and replicas"))
    log = serve.add_argument_group("log")
    log.add_argument("--log-level", choices=LOG_LEVELS, help=_text("least severe line to print", "log_level", "info"))
    text = _text("text, JSON lines, or by terminal", "log_format", "auto")
    log.add_argument("--log-format", choices=LOG_FORMATS, help=text)
    _add_tls(serve.add_argument_group("TLS"))


def _add_scenario_flags(group: _Group) -> None:
    flag = group.add_argument
    _add_choice(group)
    text = "clock of the server, such as instant or frozen@2026-11-23T09:55:00Z"
    flag("--clock", metavar="KIND[@START]", help=_text(text, "clock", "the scenario's"))
    flag("--strict", action="store_const", const="true", help=_text("refuse unmatched calls", "strict", "false"))
    _add_forward(flag)
    watch = group.add_mutually_exclusive_group()
    text = _text("reload files that change", "watch", "on a terminal")
    watch.add_argument("--watch", action="store_const", const="true", help=text)
    watch.add_argument("--no-watch", action="store_const", const="false", dest="watch", help="do not reload")
    flag("--ttft", metavar="DURATION", help=_text("time to first token, such as 100ms", "ttft", "the scenario's"))
    flag("--itl", metavar="DURATION", help=_text("time between tokens, such as 20ms", "itl", "the scenario's"))
    text = _text("do not obey x-emulator-error, -fault and -ttft headers", "header_faults", "obeyed")
    flag("--no-header-faults", action="store_const", const="false", dest="header_faults", help=text)


def _add_choice(group: _Group) -> None:
    group.add_argument("--scenario", metavar="NAME", help=_text("which scenario of a folder", "scenario", "default"))
    group.add_argument("--seed", help=_text("every draw derives from it", "seed", "the scenario's, else 0"))


def _add_network_flags(group: _Group) -> None:
    flag = group.add_argument
    flag("--host", help=_text("address to listen on", "host", "127.0.0.1"))
    flag("-p", "--port", help=_text("front port; vendors follow; 0 takes free ports", "port", FRONT_PORT))
    text = _text("write base URLs as JSON once all ports are open", "port_file", "none")
    flag("--port-file", metavar="FILE", help=text)


def _add_control_flags(group: _Group) -> None:
    flag = group.add_argument
    text = _text("open the console in a browser", "open", "false")
    flag("--open", action="store_const", const="true", help=text)
    flag("--report", metavar="FILE", help=_text("write the calls as one page of HTML at the end", "report", "none"))
    text = _text("another host name for the control API; repeatable", "allow_host", "none")
    flag("--allow-host", metavar="HOST", action="append", help=text)
    text = _text("token of the control API", "control_token", "none: private addresses only")
    flag("--control-token", metavar="TOKEN", help=text)


def _add_times(group: _Group) -> None:
    flag = group.add_argument
    text = "grace period for open responses after SIGTERM"
    flag("--drain", metavar="DURATION", help=_text(text, "drain", "30s"))
    text = "maximum time for the head of a request; 0s: none"
    flag("--head-timeout", metavar="DURATION", help=_text(text, "head_timeout", "30s"))
    text = "maximum time for the body of a request; 0s: none"
    flag("--body-timeout", metavar="DURATION", help=_text(text, "body_timeout", "2m"))
    text = "close a connection without a request, or whose response is not read, after this time; 0s: never"
    flag("--idle-timeout", metavar="DURATION", help=_text(text, "idle_timeout", "10m"))


def _add_replica_flags(group: _Group) -> None:
    flag = group.add_argument
    flag("--workers", metavar="N", help=_text("processes that share the ports", "workers", "1"))
    flag("--state-url", metavar="URL", help=_text("where counters and quotas are kept", "state_url", "memory://"))
    text = _text("while that store is unreachable, refuse calls or count them locally", "state_loss", "refuse")
    flag("--state-loss", choices=STATE_LOSSES, help=text)
    text = _text("maximum time that a start waits for it, with refuse", "state_wait", "30s")
    flag("--state-wait", metavar="DURATION", help=text)


def _add_forward(flag: Callable[..., object]) -> None:
    text = _text("service for calls that a scenario forwards; repeatable", "forward", "none")
    flag("--forward", metavar="VENDOR=URL", action="append", help=text)
    flag("--record-to", metavar="FOLDER", help=_text("record the forwarded calls", "record_to", "none"))
    text = _text("authority to trust for these services, PEM", "upstream_ca", "the system's")
    flag("--upstream-ca", metavar="FILE", help=text)


def _add_tls(group: _Group) -> None:
    flag = group.add_argument
    flag("--tls", action="store_const", const="true", help=_text("serve TLS on every port", "tls", "false"))
    flag("--tls-cert", metavar="FILE", help=_text("your own certificate, PEM", "tls_cert", "none"))
    flag("--tls-key", metavar="FILE", help=_text("the key of --tls-cert, PEM", "tls_key", "none"))
    _add_tls_dir(group)
    text = _text("additional name in the locally signed certificate; repeatable", "tls_name", "none")
    flag("--tls-name", metavar="HOST", action="append", help=text)


def _add_tls_dir(parser: _Group) -> None:
    text = _text("where the local authority is kept", "tls_dir", "the user's data folder")
    parser.add_argument("--tls-dir", metavar="FOLDER", help=text)


def _add_check(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "paths", nargs="+", metavar="PATH", help="scenario files, or folders of them; each file by itself"
    )
    check.add_argument("--join", action="store_true", help="the files make one scenario, as they do for serve")
    check.add_argument("--strict", dest="strict_check", action="store_true", help="fail on warnings, too")
    check.add_argument("--json", action="store_true", help="rows as a JSON array")


def _add_explain(explain: argparse.ArgumentParser) -> None:
    explain.add_argument("path", metavar="PATH", help="a scenario, or a folder of them")
    explain.add_argument("request", metavar="REQUEST.json", help="{vendor, method, path, headers, body}; - for stdin")
    _add_choice(explain)
    explain.add_argument("--json", action="store_true", help="the explanation as JSON")


def _add_instance(instance: argparse.ArgumentParser) -> None:
    instance.add_argument("schema", metavar="SCHEMA", help="a file; - reads one schema a line and writes one instance")
    instance.add_argument("--seed", help=_text("every draw derives from it", "seed", "0"))
    instance.add_argument("--mode", choices=MODES, default="typical", help="what is drawn (default typical)")


def _add_env(env: argparse.ArgumentParser) -> None:
    env.add_argument("vendor", choices=VENDOR_NAMES, help="vendor of the client")
    env.add_argument("--host", help=_text("where the emulator listens", "host", "127.0.0.1"))
    env.add_argument("-p", "--port", help=_text("front port", "port", FRONT_PORT))
    text = _text("where serve writes its URLs, in place of a port", "port_file", "none")
    env.add_argument("--port-file", metavar="FILE", help=text)
    env.add_argument(
        "--format", choices=FORMATS, default="sh", help="of the output (default sh); github: for $GITHUB_ENV"
    )
    env.add_argument("--tls", action="store_const", const="true", help=_text("the emulator serves TLS", "tls", "false"))
    _add_tls_dir(env)


def _add_url(parser: argparse.ArgumentParser) -> None:
    text = f"base URL of the emulator's front (default http://127.0.0.1:{FRONT_PORT})"
    parser.add_argument("--url", type=_url, help=text)


def _add_report(report: argparse.ArgumentParser) -> None:
    report.add_argument("--out", type=Path, metavar="FILE", required=True, help="where the page is written")
    _add_url(report)
    report.add_argument("--session", default="", metavar="NAME", help="the calls of this session alone")


def _add_timeline(timeline: argparse.ArgumentParser) -> None:
    flag = timeline.add_argument
    flag("paths", type=Path, nargs="+", metavar="FILE", help="scenario files, joined")
    flag("--out", type=Path, metavar="FILE", help="where the SVG is written (default: standard output)")
    flag("--journal", type=Path, metavar="FILE", help="calls to draw beneath: what GET /_emulator/requests gave")
    flag("--url", type=_url, help="base URL of the front of a running emulator, whose calls are drawn beneath")
    flag("--session", default="", metavar="NAME", help="the calls of this session alone")
    flag("--until", metavar="TIME", help="end of the picture, such as 2h (default: of all that it shows)")


def _run_timeline(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.timeline import draw

    if options.journal and options.url:
        raise SettingsError("--journal and --url both name calls: give one")
    return draw(
        options.paths,
        options.out,
        settings,
        journal=options.journal,
        url=options.url,
        session=options.session,
        until=None if options.until is None else _parse_until(options.until),
    )


def _parse_until(text: str) -> float:
    seconds = _parse_duration("--until", text)
    if seconds <= 0:
        raise SettingsError("--until: expected more than 0")
    return seconds


def _add_sweep(sweep: argparse.ArgumentParser) -> None:
    flag = sweep.add_argument
    sweep.usage = "emulator sweep [--vendor NAME] [--flag VALUE ...] -- COMMAND ..."
    flag("--vendor", choices=VENDOR_NAMES, action="append", help="whose variables the command has; repeatable")
    text = "scenario of all runs: answers, budget"
    flag("--scenario", type=Path, metavar="FILE", action="append", default=[], dest="base", help=text)
    flag("--jobs", type=_count, metavar="N", help="runs at a time (default: processors + 1; with --clock real 1)")
    flag("--no-preload", action="store_false", dest="preload", help="let each run import its libraries itself")
    flag("--clock", choices=("instant", "real"), default="instant", help="clock of the runs (default instant)")
    flag("--hang-after", metavar="DURATION", help="longest run (default: 10 times the one without faults, at least 5s)")
    text = "most runs of the command; 0 takes over earlier outcomes alone"
    flag("--max-runs", type=_count_or_none, metavar="N", help=text)
    flag("--full", action="store_true", help="run every cell, at every token, and merge none")
    flag("--shard", metavar="I/N", default="1/1", help="run the i-th part of n")
    flag("--json", type=Path, metavar="FILE", help="write every cell; go on with a sweep that was ended early")
    text = "take over outcomes, as of shards"
    flag("--from", type=Path, metavar="FILE", action="append", default=[], dest="earlier", help=text)
    flag("--since", metavar="REV", help="run only what changed since a revision of Git; needs --json")
    text = "a file that the command uses; repeatable"
    flag("--watch", type=Path, metavar="PATH", action="append", default=[], dest="watched", help=text)
    flag("--failures", type=Path, metavar="FOLDER", help="write a scenario for each failure, which shows it again")
    for name, form in (("html", "a page"), ("junit", "JUnit XML"), ("sarif", "SARIF")):
        flag(f"--{name}", type=Path, metavar="FILE", help=f"write {form}")
    flag("test_command", nargs="+", metavar="COMMAND", help="what to run, behind --")


def _add_coverage(coverage: argparse.ArgumentParser) -> None:
    flag = coverage.add_argument
    flag(
        "reports",
        type=Path,
        nargs="+",
        metavar="REPORT",
        help="what pytest --emulator-coverage-file wrote, or a page of calls",
    )
    flag("--fail-under", type=_percent, default=0.0, metavar="PERCENT", help="exit with 1 if there is less")
    flag("--json", action="store_true", help="as JSON: how many calls met each error and fault")


def _add_verdict(verdict: argparse.ArgumentParser) -> None:
    _add_url(verdict)
    verdict.add_argument("--session", default="", metavar="NAME", help="the calls of this session (default: of none)")
    verdict.add_argument("--json", action="store_true", help="as JSON, with the figures")


def _add_models(models: argparse.ArgumentParser) -> None:
    models.add_argument("vendor", choices=VENDOR_NAMES, help="vendor")
    models.add_argument(
        "paths", nargs="*", default=[], metavar="PATH", help="scenario files or a folder, which add their own"
    )
    models.add_argument("--scenario", metavar="NAME", help=_text("which scenario of a folder", "scenario", "default"))
    models.add_argument("--json", action="store_true", help="all their attributes as a JSON array")


def _add_record(record: argparse.ArgumentParser) -> None:
    flag = record.add_argument
    flag("upstreams", nargs="+", metavar="VENDOR=URL", help="a vendor and the base URL of its service")
    flag("--to", type=Path, metavar="FOLDER", required=True, help="where the exchanges are written, one file a call")
    flag("--upstream-ca", metavar="FILE", help="certificate of an authority to trust besides the system's, PEM")
    flag(
        "--silence", metavar="DURATION", default="10m", help="give up a response that is silent this long (default 10m)"
    )
    flag(
        "--fail-on-secret",
        action="store_true",
        help="exit with 1 if a credential stood anywhere but in credential headers; it is cut in any case",
    )
    _add_network_flags(record)
    _add_tls(record)


def _run_record(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.record import RecordOptions, record

    silence = _parse_duration("--silence", options.silence)
    given = options.to, options.upstreams, settings.upstream_ca, silence, options.fail_on_secret
    return record(RecordOptions(*given), settings)


def _add_import(parser: argparse.ArgumentParser) -> None:
    text = "vcrpy cassettes, HAR, aimock, MockServer, llmposter, LiteLLM's log lines, OpenAI batches"
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help=text)
    parser.add_argument(
        "--to", type=Path, metavar="FOLDER", required=True, help="where exchanges and rules are written"
    )
    text = "whose the calls are, where neither host nor path says so"
    parser.add_argument("--vendor", choices=VENDOR_NAMES, default="", help=text)


def _run_import(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.imports import import_files

    return import_files(options.files, options.to, options.vendor)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", type=Path, metavar="A", help="folder of exchanges")
    parser.add_argument("second", type=Path, nargs="?", metavar="B", help="another")
    parser.add_argument("--against", choices=VENDOR_NAMES, help="compare with the emulator: ask it what A asked")
    parser.add_argument("--json", action="store_true", help="the differences as JSON")
    text = "write a scenario that makes the emulator like A, as far as rules can"
    parser.add_argument("--as-profile", type=Path, metavar="FILE", help=text)


def _run_diff(options: argparse.Namespace, settings: Settings) -> int:
    if (options.second is None) == (options.against is None):
        raise SettingsError("diff takes a second recording, or --against VENDOR")
    from emulator.cli.diff import diff

    return diff(options.first, options.second, options.against, as_json=options.json, profile=options.as_profile)


def _add_fit(parser: argparse.ArgumentParser) -> None:
    text = "folder of exchanges, journal, or result of vLLM's benchmark, guidellm or inference-perf"
    parser.add_argument("files", type=Path, nargs="+", metavar="TRACE", help=text)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw measured against fitted times")


def _run_fit(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.fit import fit

    return fit(options.files, options.svg)


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_url(parser)
    parser.add_argument("--format", choices=("har", "vcr", "exchanges"), default="har", help="of the output")
    parser.add_argument("--session", default="", metavar="NAME", help="the calls of this session alone")


def _run_export(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.export import export

    return export(_find_url(options, settings), options.format, options.session, settings)


def _add_init(init: argparse.ArgumentParser) -> None:
    init.add_argument(
        "folder", type=Path, nargs="?", default=".", metavar="FOLDER", help="where to write (default: this one)"
    )


def _add_try(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", metavar="QUESTION", help="the user's message of a chat")
    parser.add_argument(
        "paths", nargs="*", default=[], metavar="PATH", help="scenario files or a folder; none: plain responses"
    )
    parser.add_argument("--vendor", choices=VENDOR_NAMES, help="vendor to ask (default: the first that is served)")
    parser.add_argument("--model", metavar="NAME", help="deployment to ask (default: the vendor's usual one)")
    parser.add_argument("--stream", action="store_true", help="ask for a stream")
    _add_choice(parser)


def _add_health(health: argparse.ArgumentParser) -> None:
    health.add_argument("--url", type=_url, help=f"base URL of its front (default http://127.0.0.1:{FRONT_PORT})")
    health.add_argument("-p", "--port", help=_text("front port", "port", FRONT_PORT))
    text = _text("where serve writes its URLs, in place of a port", "port_file", "none")
    health.add_argument("--port-file", metavar="FILE", help=text)


def _add_ca(ca: argparse.ArgumentParser) -> None:
    _add_tls_dir(ca)


def _add_completion(completion: argparse.ArgumentParser) -> None:
    text = 'bash and zsh: eval "$(emulator completion bash)"; PowerShell: pipe it to Out-String | Invoke-Expression'
    completion.add_argument("shell", choices=SHELLS, help=text)


def _run_init(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.init import write_starter

    return write_starter(options.folder)


def _run_try(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.try_question import try_question

    return try_question(options.question, options.vendor, settings, model=options.model, stream=options.stream)


def _run_check(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.check import check

    return check(settings.paths, strict=options.strict_check, join=options.join, as_json=options.json)


def _run_explain(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.explain import explain

    return explain(options.path, options.request, settings, as_json=options.json)


def _run_schema(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.schema import render_schema

    print(render_schema(), end="")
    return 0


def _run_instance(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.instance import write_instances

    return write_instances(options.schema, settings.seed or 0, options.mode)


def _run_serve(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.core.deferred import defer_package

    gc.disable()  # objects of the start are permanent; the server enables collection once it listens
    defer_package("aiohttp")  # its client and the certificates that it loads are a sixth of a start, and 7 MiB
    try:
        from emulator.serve.main import run

        return run(settings)
    finally:
        gc.enable()


def _run_health(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.health import check_health, find_front

    try:
        url = options.url or find_front(settings, options.port)
    except ValueError as error:
        print(f"not ready: {escape(str(error))}", file=sys.stderr)
        return 1
    return check_health(url, settings)


def _run_env(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.env import print_environment

    print_environment(options.vendor, settings, options.format, options.port)
    return 0


def _run_ca(options: argparse.Namespace, settings: Settings) -> int:
    """Print the path of the local authority's certificate; create the authority if there is none."""
    from emulator.http.tls import open_authority

    print(open_authority(settings).path)
    return 0


def _run_report(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.report import write_report

    return write_report(_find_url(options, settings), options.out, options.session, settings)


def _find_url(options: argparse.Namespace, settings: Settings) -> str:
    return options.url or f"{settings.scheme}://127.0.0.1:{settings.port}"


def _run_sweep(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.sweep import Outputs, parse_shard, run_sweep
    from emulator.sweep.run import SweepOptions, choose_jobs

    files = {name: getattr(options, name) for name in ("json", "junit", "sarif", "html", "failures")}
    how = SweepOptions(
        vendors=options.vendor or VENDOR_NAMES[:1],
        jobs=options.jobs or choose_jobs(options.clock),
        clock=options.clock,
        hang_after=None if options.hang_after is None else _parse_duration("--hang-after", options.hang_after),
        max_runs=options.max_runs,
        full=options.full,
        shard=parse_shard(options.shard),
        base=options.base,
    )
    outputs = Outputs(since=options.since, watch=options.watched, earlier=options.earlier, **files)
    return run_sweep(options.test_command, how, outputs, preloads=options.preload)


def _run_coverage(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.coverage import print_coverage

    return print_coverage(options.reports, options.fail_under, as_json=options.json)


def _run_verdict(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.verdict import print_verdict

    return print_verdict(_find_url(options, settings), options.session, settings, as_json=options.json)


def _run_models(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.models import list_models

    return list_models(options.vendor, settings, as_json=options.json)


def _run_completion(options: argparse.Namespace, settings: Settings) -> int:
    from emulator.cli.completion import render_completion

    print(render_completion(options.shell, build_parser()), end="")
    return 0


_Add = Callable[[argparse.ArgumentParser], None]
_Run = Callable[[argparse.Namespace, Settings], int]
_VERBS: Mapping[str, tuple[str, _Add | None, _Run]] = {  # what it does, its flags, and its call
    "init": ("write a first scenario, its schema and a test", _add_init, _run_init),
    "serve": ("serve the vendors' APIs", _add_serve, _run_serve),
    "try": ("print what a question would be answered, and why", _add_try, _run_try),
    "check": ("find mistakes in scenarios", _add_check, _run_check),
    "explain": ("explain which rule matches a request", _add_explain, _run_explain),
    "models": ("list a vendor's deployments", _add_models, _run_models),
    "env": ("print the variables a vendor's client reads", _add_env, _run_env),
    "report": ("write the recorded calls as one HTML page", _add_report, _run_report),
    "sweep": ("run a test command once for each fault that its calls can meet", _add_sweep, _run_sweep),
    "coverage": ("print which errors and faults the calls of tests met", _add_coverage, _run_coverage),
    "verdict": ("judge what clients did with errors, waits and broken answers", _add_verdict, _run_verdict),
    "timeline": ("draw the outages of a scenario, and what clients did during them", _add_timeline, _run_timeline),
    "record": ("record the calls to real services", _add_record, _run_record),
    "import": ("import recordings and fixtures of other tools", _add_import, _run_import),
    "export": ("print the calls of a running emulator", _add_export, _run_export),
    "diff": ("compare two recordings, or one and the emulator", _add_diff, _run_diff),
    "fit": ("print the latency of measured calls as a scenario has it", _add_fit, _run_fit),
    "health": ("check whether a running emulator is ready", _add_health, _run_health),
    "schema": ("print the JSON Schema of scenario files", None, _run_schema),
    "instance": ("print an instance of a JSON Schema", _add_instance, _run_instance),
    "ca": ("print the path of the certificate that clients trust for --tls", _add_ca, _run_ca),
    "completion": ("print a shell's completion script", _add_completion, _run_completion),
}
