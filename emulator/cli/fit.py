"""``emulator fit``: print a scenario's ``latency:`` section, fitted to measured times; the package ``fit`` fits it."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from emulator.cli.files import require_readable
from emulator.core.extras import explain_missing
from emulator.core.os_errors import explain_file
from emulator.core.text import escape


def fit(files: Sequence[Path], svg: Path | None) -> int:
    """Print the section; return 0, 1 if a trace does not hold what a fit needs, 2 without SciPy."""
    if find_spec("scipy") is None:
        print(f"emulator: error: {explain_missing('fit', 'fit')}", file=sys.stderr)
        return 2
    require_readable(files)
    from emulator.fit.estimate import fit_latency
    from emulator.fit.show import draw_picture, format_section
    from emulator.fit.traces import TraceError, read_traces

    try:
        found = fit_latency(read_traces(files))
    except TraceError as error:
        print(f"emulator: error: {escape(str(error))}", file=sys.stderr)
        return 1
    print(*format_section(found), sep="\n")
    if svg is not None:
        try:
            svg.write_text(draw_picture(found), encoding="utf-8")
        except OSError as error:
            print(f"emulator: error: --svg: {escape(explain_file(error))}", file=sys.stderr)
            return 2
    return 0
