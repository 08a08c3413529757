"""``emulator coverage``: print which errors and faults the calls of test runs met."""

from collections.abc import Sequence
from pathlib import Path

from emulator.core.os_errors import explain_file
from emulator.settings import SettingsError
from emulator.sweep.coverage import Coverage, parse_coverage


def print_coverage(files: Sequence[Path], wanted: float, *, as_json: bool) -> int:
    """Print the coverage of all reports together; return 1 if it is less than ``wanted`` percent."""
    coverage = Coverage()
    for file in files:
        try:
            coverage.join(parse_coverage(file.read_text(encoding="utf-8"), str(file)))
        except OSError as error:
            raise SettingsError(f"cannot read {file}: {explain_file(error, file)}") from None
        except ValueError as error:
            raise SettingsError(str(error)) from None
    if as_json:
        print(coverage.dump())
    else:
        print("\n".join(coverage.format()))
    return int(coverage.is_under(wanted))
