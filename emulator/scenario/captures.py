"""Named groups of the regular expressions in ``when``, for placeholders of replies such as ``{match.city}``.

``placeholders.py`` fills them in.
"""

import re
from collections.abc import Iterator, Mapping

from emulator.scenario.conditions import Comparison, When
from emulator.scenario.matchers import ABSENT, Matcher, RequestAttributes, compile_when, find_failed
from emulator.scenario.redaction import redact_found
from emulator.scenario.regex import capture

_GROUP = re.compile(r"(?<!\\)\(\?P<(\w+)>")


def list_groups(when: When) -> list[str]:
    """Return the names of all groups, in order; those under ``not`` capture nothing."""
    found = [name for pattern in _list_patterns(when) for name in _GROUP.findall(pattern)]
    return list(dict.fromkeys(found))


def _list_patterns(when: When) -> Iterator[str]:
    for condition in (*when.conditions.values(), *when.body.values()):
        if isinstance(condition, Comparison) and condition.regex is not None:
            yield condition.regex
    for part in when.any or ():
        yield from _list_patterns(part)


def find_captures(when: When, attributes: RequestAttributes) -> Mapping[str, str]:
    """Return the text of each group in a request that matches; a group without text is absent.

    Credentials are redacted before they are searched.
    """
    found: dict[str, str] = {}
    for check in _list_matching(compile_when(when), attributes):
        wanted = check.wanted
        if not isinstance(wanted, Comparison) or wanted.regex is None:
            continue
        value = check.extract(attributes)
        for one in value if isinstance(value, tuple) else (value,):
            shown = redact_found(check.name, one, attributes) if check.name.startswith(_REDACTED) else one
            if shown is not ABSENT and isinstance(shown, str) and check.test(one):
                found = {**capture(wanted.regex, wanted.ignore_case, shown), **found}
                break
    return found


_REDACTED = ("header.", "query.", "body.")


def _list_matching(checks: tuple[Matcher, ...], attributes: RequestAttributes) -> Iterator[Matcher]:
    for check in checks:
        if check.name == "any" and check.parts:
            for part in check.parts:
                if find_failed(part, attributes) is None:
                    yield from _list_matching(part, attributes)
        elif not check.parts:
            yield check
