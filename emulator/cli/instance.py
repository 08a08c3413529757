"""``emulator instance``: print an instance of a JSON Schema, as a structured response would have it."""

import sys
from pathlib import Path

from emulator.cli.encoding import parse_json_text
from emulator.core.json import JSON, canonical_json, dump_json
from emulator.core.os_errors import explain_file
from emulator.core.rng import derive_key
from emulator.core.text import escape
from emulator.generation.json_schema import Mode, Unsatisfiable, generate
from emulator.settings import SettingsError


def write_instances(source: str, seed: int, mode: Mode) -> int:
    """Print an instance of a schema; from ``-``, one instance per line of input.

    Returns 1 if the schema has no instance. A line without one yields an object with ``error``.
    """
    if source == "-":
        for line in sys.stdin.buffer:
            _print(_generate_or_error(line, seed, mode))
        return 0
    try:
        text = Path(source).read_bytes()
    except OSError as error:
        raise SettingsError(f"cannot read {source}: {explain_file(error, source)}") from None
    try:
        _print(_generate(text, seed, mode))
    except (Unsatisfiable, ValueError) as error:
        print(f"emulator: error: {escape(f'{source}: {error}')}", file=sys.stderr)
        return 1
    return 0


def _generate_or_error(line: bytes, seed: int, mode: Mode) -> JSON:
    try:
        return _generate(line, seed, mode)
    except (Unsatisfiable, ValueError) as error:
        return {"error": str(error)}


def _generate(text: bytes, seed: int, mode: Mode) -> JSON:
    """Return an instance that depends on schema and seed alone, not on the order of the lines."""
    schema = parse_json_text(text)
    return generate(schema, derive_key(seed, "instance", canonical_json(schema)), mode=mode)


def _print(value: JSON) -> None:
    sys.stdout.buffer.write(dump_json(value) + b"\n")
    sys.stdout.buffer.flush()
