"""Read files of other tools, recognised by their content, and write their exchanges and rules to a folder, redacted."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from zipfile import BadZipFile, ZipFile, is_zipfile

import yaml

from emulator.core.json import JSON, dump_text
from emulator.core.os_errors import explain_file
from emulator.imports.cassettes import Attached, read_cassette, read_har
from emulator.imports.fixtures import is_aimock, is_llmposter, read_aimock, read_llmposter
from emulator.imports.logs import Batches, is_batch_line, is_litellm, read_litellm
from emulator.imports.mockserver import is_mockserver, read_mockserver
from emulator.imports.result import ImportProblem, ImportResult, as_mapping, drop_unsendable
from emulator.recording.exchange import SUFFIX, Exchange, RecordedWrite, drop_framing, format_exchange
from emulator.recording.redact import Secrets, redact_headers, redact_parts, redact_target, redact_whole

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_MAX_FILE = 256 * 1024**2  # bytes


def read_files(files: Iterable[Path], vendor: str = "") -> ImportResult:
    """Read files and folders in any of the formats; requests and results of batches may stand in different ones.

    Raises:
        ImportProblem: a file cannot be read, or is in none of the formats.
    """
    found, batches = ImportResult(), Batches()
    for file in _list_files(files):
        try:
            if file.stat().st_size > _MAX_FILE:
                raise ImportProblem(f"{file}: more than {_MAX_FILE // 1024**2} MiB")
            if is_zipfile(file):
                found.add(_read_zip(file, vendor))
            else:
                found.add(_read(file.read_text(encoding="utf-8-sig"), file, vendor, batches))
        except OSError as error:
            raise ImportProblem(f"cannot read {file}: {explain_file(error, file)}") from None
        except BadZipFile:
            raise ImportProblem(f"{file}: a damaged archive") from None
        except (UnicodeDecodeError, RecursionError):
            raise ImportProblem(f"{file}: not UTF-8, or nested too deeply") from None
    found.add(batches.join(vendor))
    drop_unsendable(found)
    return found


def _list_files(files: Iterable[Path]) -> Iterator[Path]:
    """Yield files, and those of folders in the order of their names."""
    for file in files:
        if file.is_dir():
            yield from sorted(each for each in file.rglob("*") if each.is_file() and not each.name.startswith("."))
        else:
            yield file


def _read_zip(file: Path, vendor: str) -> ImportResult:
    """Read the HAR file of an archive, as Playwright writes it, with the files of its bodies."""
    with ZipFile(file) as archive:
        sizes = {each.filename: each.file_size for each in archive.infolist()}
        name = next((name for name in sizes if name.endswith(".har")), "")
        if sum(sizes.values()) > _MAX_FILE:
            raise ImportProblem(f"{file}: more than {_MAX_FILE // 1024**2} MiB")
        value = _parse_json(archive.read(name).decode()) if name else None
        if not _is_har(value):
            raise ImportProblem(f"{file.name}: an archive without a HAR file")
        return read_har(value, file.name, vendor, lambda each: archive.read(each) if each in sizes else b"")


def _load_beside(file: Path) -> Attached:
    """Return the function that reads the files in the folder of a HAR file."""

    def load(name: str) -> bytes:
        place = file.with_name(name) if Path(name).name == name else None
        return place.read_bytes() if place is not None and place.is_file() and not place.is_symlink() else b""

    return load


def _is_har(value: JSON) -> bool:
    return "entries" in as_mapping(as_mapping(value).get("log"))


def _read(text: str, file: Path, vendor: str, batches: Batches) -> ImportResult:
    value = _parse_json(text)
    if value is None:
        lines = _parse_lines(text)
        if lines and all(is_batch_line(line) for _, line in lines):
            batches.add(lines, file.name)
            return ImportResult()
        if lines and all(is_litellm(line) for _, line in lines):
            return read_litellm(lines, file.name, vendor)
        return _read_yaml(text, file, vendor)
    return _read_document(value, file, vendor, batches)


def _read_document(value: JSON, file: Path, vendor: str, batches: Batches) -> ImportResult:
    name = file.name
    if _is_har(value):
        return read_har(value, name, vendor, _load_beside(file))
    if "interactions" in as_mapping(value):
        return read_cassette(as_mapping(value), name, vendor)
    if is_litellm(value):
        return read_litellm([(1, value)], name, vendor)
    if is_batch_line(value):
        batches.add([(1, value)], name)
        return ImportResult()
    return _read_fixtures(value, name, vendor)


def _read_fixtures(value: JSON, name: str, vendor: str) -> ImportResult:
    if is_aimock(value):
        return read_aimock(value, name)
    if is_mockserver(value):
        return read_mockserver(value, name, vendor)
    if is_llmposter(value):
        return read_llmposter(value, name)
    known = "vcrpy, HAR 1.2, aimock, MockServer, llmposter, LiteLLM's log lines, OpenAI batches"
    raise ImportProblem(f"{name}: in none of the known formats: {known}")


def _parse_json(text: str) -> JSON:
    """Return a JSON document, or ``None``."""
    try:
        value: JSON = json.loads(text)
        if _SURROGATE.search(text):  # half a character, as a text that was cut has it, is in no encoding
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except ValueError:
        return None
    return value


def _parse_lines(text: str) -> list[tuple[int, JSON]]:
    """Return the JSON lines of a text with their numbers; none if a line is no JSON."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    values = [(number, _parse_json(line)) for number, line in lines]
    return [] if any(value is None for _, value in values) else values


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # one of two classes
    """Safe loader in which ``no`` and ``on`` are texts, as in YAML 1.2."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # pyyaml has it so
        first: [row for row in rows if row[0] != "tag:yaml.org,2002:bool" or first in "tTfF"]
        for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _read_yaml(text: str, file: Path, vendor: str) -> ImportResult:
    try:
        value = yaml.load(text, Loader=_Loader)  # noqa: S506  # a safe loader
    except yaml.YAMLError as error:
        raise ImportProblem(f"{file.name}: neither JSON nor YAML: {str(error).splitlines()[0]}") from None
    if isinstance(value, dict) and "interactions" in value:
        return read_cassette(value, file.name, vendor)
    try:
        return _read_fixtures(json.loads(json.dumps(value)), file.name, vendor)
    except TypeError:
        raise ImportProblem(f"{file.name}: holds values that no format has") from None


def redact_exchange(exchange: Exchange, secrets: Secrets) -> Exchange:
    """Redact a whole exchange in place; return it."""
    exchange.request_headers = redact_headers(drop_framing(exchange.request_headers), secrets, "request")
    exchange.target = redact_target(exchange.target, secrets)
    exchange.request_body = redact_whole(exchange.request_body, secrets, "request body")
    exchange.headers = redact_headers(drop_framing(exchange.headers), secrets, "response")
    parts = redact_parts([write.data for write in exchange.writes], secrets, "response body")
    pairs = zip(exchange.writes, parts, strict=True)
    exchange.writes = tuple([RecordedWrite(write.offset, part) for write, part in pairs if part])
    exchange.redacted = secrets.total
    return exchange


def write_found(found: ImportResult, folder: Path) -> list[str]:
    """Write exchanges and rules to a folder, redacted; return file and place of credentials that were exposed.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    exposed = []
    for number, exchange in enumerate(found.exchanges, 1):
        secrets = Secrets()
        redact_exchange(exchange, secrets)
        words = exchange.path.strip("/").replace("/", "-").replace("…", "")[-40:].strip("-")
        file = folder / f"{number:04}-{exchange.vendor}-{words}{SUFFIX}"
        file.write_text(format_exchange(exchange), encoding="utf-8", newline="\n")
        exposed += [f"{file.name}: {place}" for place in secrets.places]
    if found.rules:
        secrets = Secrets()
        rows = [redact_whole(dump_text(rule).encode(), secrets, "rules").decode() for rule in found.rules]
        text = "\n".join(["version: 1", "rules:", *(f"  - {row}" for row in rows)])
        (folder / "imported.yaml").write_text(f"{text}\n", encoding="utf-8")
        exposed += [f"imported.yaml: {place}" for place in secrets.places]
    return exposed
