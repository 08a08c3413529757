"""``emulator verdict``: print which rules about errors, waits and broken answers the clients broke."""

import sys
from collections.abc import Iterator

from emulator.cli.report import explain_failure, open_client
from emulator.client import EmulatorError
from emulator.control.models import Usage, Verdict
from emulator.core.text import escape
from emulator.settings import Settings

_WORDS = {True: "kept", False: "BROKEN", None: "not judged"}


def print_verdict(url: str, session: str, settings: Settings, *, as_json: bool) -> int:
    """Print the verdict; return 1 if a rule is broken, 2 if no emulator responds."""
    try:
        with open_client(url, settings, session) as client:
            found, usage = client.verdict(), client.usage()
    except (EmulatorError, OSError, ValueError) as error:
        print(f"no verdict: {explain_failure(error)}", file=sys.stderr)
        return 2
    print(found.model_dump_json(indent=2) if as_json else "\n".join([*_format(found), "", *_format_usage(usage)]))
    if not usage.calls:
        where = f"session {session} has no calls" if session else "there are no calls outside sessions; see --session"
        print(f"nothing was judged: {where}", file=sys.stderr)
    return 0 if found.ok else 1


def _format_usage(usage: Usage) -> Iterator[str]:
    tokens, waste = usage.output_tokens, usage.output_tokens.waste
    reasons = ", ".join(f"{count} {name}" for name, count in waste.model_dump().items() if count)
    yield f"output tokens  {tokens.sent} sent, {tokens.delivered} delivered, {tokens.wasted} wasted" + (
        f" ({reasons})" if reasons else ""
    )
    yield f"prompt tokens  {usage.prompt_tokens}"
    yield f"cost           {usage.cost.usd:.6f} USD"
    yield f"amplification  {usage.amplification:.2f} calls for each question"


def _format(found: Verdict) -> Iterator[str]:
    width = max(len(row.rule) for row in found.rules)
    for row in found.rules:
        why = f"  {row.why}" if row.why else ""
        yield f"{row.rule.ljust(width)}  {_WORDS[row.kept]}{why}"
    if found.broken:
        yield ""
        yield from (f"{row.rule}: {escape(row.sentence)}" for row in found.broken)
