"""Build the service of each vendor: settings, deployments and credentials of a scenario.

The vendor's parsers and renderers take it as their argument.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType

from pydantic import ValidationError

from emulator.core.cache import Cache
from emulator.core.clock import Clock
from emulator.core.dataclass import fast_dataclass
from emulator.core.json import dump_text
from emulator.core.redaction.credentials import build_credential_map
from emulator.core.requests import Deployment, InferenceRequest, Message, Task, Tool
from emulator.core.vendor import (
    AnyService,
    AnyVendor,
    Metrics,
    OptionsCache,
    OptionsKey,
    ParsedOptions,
    Service,
    Tokenizer,
    Vendors,
    VendorSettings,
)
from emulator.generation.prompt import count_chat, count_parts, count_prompt
from emulator.generation.tokenizer import refresh_tokenizer, tokenizer_for
from emulator.generation.tokenizer_profiles import PROFILES
from emulator.scenario.conditions import When
from emulator.scenario.errors import Diagnostic, find_nearest_name, sort_diagnostics
from emulator.scenario.locations import KeyPath
from emulator.scenario.matchers import compile_names
from emulator.scenario.models import DeploymentEntry, Scenario
from emulator.scenario.outage_effects import Retirements
from emulator.scenario.outcomes import Outcome
from emulator.scenario.parsed import ParsedScenario, ScenarioError

_MAX_SNAPSHOTS = 64
_TOLERANCE = 1e-6  # seconds; Unix time is rounded
NO_ENDS: Mapping[str, float] = MappingProxyType({})


def check_vendors(loaded: ParsedScenario, vendors: Vendors) -> list[str]:
    """Validate vendor sections and deployments; return the names of the served vendors.

    Only vendors with a section are imported, and for vectors by input those that a rule may be about.

    Raises:
        ScenarioError: with every mistake.
    """
    sections = loaded.scenario.vendors
    rows = [_unknown_vendor(loaded, ("vendors", name), name, vendors) for name in sections if name not in vendors]
    served = [name for name in vendors if sections.get(name) is not False]
    for vendor in (vendors[name] for name in served if name in sections):
        try:
            read_settings(vendor, loaded.scenario)
        except ValidationError as error:
            rows += loaded.rows(error, vendor.settings, ("vendors", vendor.name))
    rows += _check_deployments(loaded, vendors)
    if not rows:
        rows += _check_vectors(loaded, vendors, served)
    if rows:
        raise ScenarioError(rows)
    return served


def read_settings(vendor: AnyVendor, scenario: Scenario) -> VendorSettings:
    """Return a vendor's settings from the scenario.

    Raises:
        ValidationError: its section does not fit.
    """
    settings: VendorSettings = vendor.settings.model_validate(scenario.vendors.get(vendor.name, {}))
    return settings


def _check_deployments(loaded: ParsedScenario, vendors: Vendors) -> Iterator[Diagnostic]:
    for position, entry in enumerate(loaded.scenario.deployments):
        if entry.vendor not in vendors:
            yield _unknown_vendor(loaded, ("deployments", position, "vendor"), entry.vendor, vendors)
        elif entry.traits and (text := vendors[entry.vendor].check_traits(entry.to_deployment(None))):
            yield loaded.row(("deployments", position, "traits"), text)
        if entry.embeddings is not None and (text := _check_geometry(entry)):
            yield loaded.row(("deployments", position, "embeddings"), text)
        name = entry.to_deployment(None).tokenizer
        if name not in PROFILES and (why := _check_tokenizer(name, is_sent=not loaded.sources)):
            yield loaded.row(("deployments", position, "tokenizer"), *why)


def _check_vectors(loaded: ParsedScenario, vendors: Vendors, served: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield vectors shorter than those of a model that the rule is about, unless they are filled up."""
    for position, rule in enumerate(loaded.scenario.rules):
        steps = [(("sequence", number), step) for number, step in enumerate(rule.sequence or ())]
        outcomes: list[tuple[KeyPath, Outcome]] = [((), rule), *steps]
        for place, outcome in outcomes:
            reply = outcome.reply
            if reply is None or reply.embeddings is None or reply.pad:
                continue
            longest = max(_list_dimensions(rule.when, loaded.scenario, vendors, served), default=(0, ""))
            for number, entry in enumerate(reply.embeddings):
                if len(entry.vector) < longest[0]:
                    path = ("rules", position, *place, "reply", "embeddings", number, "vector")
                    text = f"{len(entry.vector)} numbers, and {longest[1]} has {longest[0]}; `pad: true` adds zeros"
                    yield loaded.row(path, text)


def _list_dimensions(
    when: When, scenario: Scenario, vendors: Vendors, served: Iterable[str]
) -> Iterator[tuple[int, str]]:
    """Yield length of vectors and name of each model for embeddings that a rule can be about."""
    is_vendor, is_name = compile_names(when.vendor or ("*",)), compile_names(when.deployment or ("*",))
    for vendor in map(vendors.__getitem__, filter(is_vendor, served)):
        for deployment in list_deployments(vendor, read_settings(vendor, scenario), scenario).values():
            if deployment.task == "embeddings" and is_name(deployment.name):
                yield deployment.dimensions, deployment.name


def _check_tokenizer(name: str, *, is_sent: bool) -> tuple[str, str | None] | None:
    """Return why a vocabulary cannot be used, and the nearest name; ``is_sent``: the scenario was sent over HTTP."""
    from emulator.generation import vocabulary_files as files  # not needed without a vocabulary

    if name not in files.PACKAGED_FILES and not name.startswith(files.FILE_PREFIX):
        return f"unknown tokenizer {name!r}", find_nearest_name(name, (*PROFILES, *files.PACKAGED_FILES))
    if is_sent and name.startswith(files.FILE_PREFIX) and not files.takes_sent_paths():
        return "a scenario sent over HTTP names no files of the server; serve it from a file", None
    try:
        refresh_tokenizer(name)
        tokenizer_for(name)
    except files.VocabularyError as error:
        return str(error), None
    return None


def _check_geometry(entry: DeploymentEntry) -> str:
    """Return why no vectors have the declared relations, or an empty text."""
    geometry = entry.to_deployment(None).geometry
    if geometry is None or geometry.kind != "declared":
        return ""
    from emulator.generation.embeddings.arrangement import MAX_TEXTS, ConflictError, arrange
    from emulator.generation.embeddings.declared import count_block

    count = len(geometry.list_texts())
    if count > MAX_TEXTS:
        return f"{count} texts are declared; at most {MAX_TEXTS} are arranged"
    if entry.dimensions is not None and not count_block(count, entry.dimensions):
        return f"{count} texts are declared, which takes more than {entry.dimensions} dimensions"
    try:
        arrange(geometry)
    except ConflictError as error:
        return f"no vectors have all of these: {error}"
    return ""


@contextmanager
def adding_vendor_mistakes(vendors: Vendors) -> Iterator[None]:
    """Add mistakes in vendor sections to any :class:`ScenarioError` raised inside."""
    try:
        yield
    except ScenarioError as error:
        raise complete(error, vendors) from None


def complete(error: ScenarioError, vendors: Vendors) -> ScenarioError:
    """Return a scenario's mistakes together with those in its vendor sections."""
    rows = list(error.rows)
    for part in error.parts:
        try:
            check_vendors(part, vendors)
        except ScenarioError as more:
            rows += more.rows
    return ScenarioError(sort_diagnostics(rows, list(dict.fromkeys(row.file for row in rows))))


def _unknown_vendor(loaded: ParsedScenario, path: KeyPath, name: str, known: Iterable[str]) -> Diagnostic:
    return loaded.row(path, f"unknown vendor {name!r}", find_nearest_name(name, known), at_key=path[0] == "vendors")


def list_deployments(vendor: AnyVendor, settings: VendorSettings, scenario: Scenario) -> dict[str, Deployment]:
    """Return the vendor's deployments, with those that the scenario adds or replaces, by name."""
    deployments = {deployment.name: deployment for deployment in vendor.catalogue(settings)}
    for entry in scenario.deployments:
        if entry.vendor == vendor.name:
            deployments[entry.name] = entry.to_deployment(deployments.get(entry.name))
    for name, task in _list_recorded(vendor, scenario).items():
        if name not in deployments:
            deployments[name] = DeploymentEntry(vendor=vendor.name, name=name, task=task).to_deployment(None)
    return deployments


def _list_recorded(vendor: AnyVendor, scenario: Scenario) -> Mapping[str, Task]:
    """Return the deployments that recorded requests name, with their tasks: the real service had them."""
    if scenario.replay is None:
        return {}
    from emulator.handler.replay import Resolver  # not needed without a replay
    from emulator.recording.exchange import parse_named_exchanges
    from emulator.recording.replay import find_models

    exchanges = parse_named_exchanges(scenario.replay.exchanges or ())
    return find_models(exchanges, vendor.name, Resolver(vendor))


class DeploymentTable(Mapping[str, Deployment]):
    """Deployments by name; each is ready once its initial state has lasted for its time, until it is retired.

    ``ends``: when deployments are retired, in seconds since the start.
    """

    def __init__(
        self, deployments: Mapping[str, Deployment], clock: Clock, began: float, ends: Mapping[str, float] = NO_ENDS
    ) -> None:
        self._first = deployments
        self._ends = ends
        self._ready = {name: replace(found, state="ready", state_lasts=None) for name, found in deployments.items()}
        self._clock = clock
        self._began = began

    def __getitem__(self, name: str) -> Deployment:
        found, since_start = self._first[name], self._clock.now() - self._began
        if name in self._ends and since_start >= self._ends[name] - _TOLERANCE:
            return replace(found, state="retired", state_lasts=None)
        if found.state_lasts is None or since_start < found.state_lasts - _TOLERANCE:
            return found
        return self._ready[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._first)

    def __len__(self) -> int:
        return len(self._first)


@fast_dataclass(frozen=True, slots=True, eq=False)
class _Snapshot:
    """Immutable deployments of a vendor, with the profile of each."""

    vendor: AnyVendor
    deployments: Mapping[str, Deployment]
    profiles: Mapping[str, object]


class _Snapshots:
    """Cache of snapshots by settings and deployments; scenarios that serve the same share one."""

    def __init__(self) -> None:
        self._snapshots: Cache[tuple[Hashable, ...], _Snapshot] = Cache()

    def find(self, vendor: AnyVendor, settings: VendorSettings, scenario: Scenario) -> _Snapshot:
        entries = [entry for entry in scenario.deployments if entry.vendor == vendor.name]
        added = "\n".join(entry.model_dump_json(exclude_unset=True) for entry in entries)  # null is not absent
        if scenario.replay is not None:
            added += dump_text(dict(_list_recorded(vendor, scenario)))
        private = tuple((settings.__pydantic_private__ or {}).items())  # such as which switches were given
        key = (id(vendor), settings.model_dump_json(), private, added)
        snapshot = self._snapshots.get(key)
        if snapshot is None:
            deployments = list_deployments(vendor, settings, scenario)
            profiles = {
                name: vendor.profile_deployment(deployment, settings) for name, deployment in deployments.items()
            }
            if len(self._snapshots) >= _MAX_SNAPSHOTS:
                del self._snapshots[next(iter(self._snapshots))]
            snapshot = self._snapshots[key] = _Snapshot(vendor, deployments, profiles)
        return snapshot


_SNAPSHOTS = _Snapshots()


class _NoOptions(OptionsCache):
    """Cache that stays empty: remembered options would outlive their deployment."""

    def keep(self, key: OptionsKey, value: ParsedOptions | None) -> ParsedOptions | None:
        return value


def create_service(
    vendor: AnyVendor,
    settings: VendorSettings,
    scenario: Scenario,
    clock: Clock,
    metrics: Metrics,
    began: float | None = None,
) -> AnyService:
    """Create a vendor's service for a scenario that began at ``began``, Unix seconds; absent: now."""
    snapshot = _SNAPSHOTS.find(vendor, settings, scenario)
    deployments = snapshot.deployments
    began = clock.now() if began is None else began
    retirements = Retirements(scenario.outages, began)
    ends = {name: end for name in deployments if (end := retirements.find_end(vendor.name, name)) is not None}
    changes = bool(ends) or any(deployment.state_lasts is not None for deployment in deployments.values())
    return Service(
        name=vendor.name,
        settings=settings,
        deployments=DeploymentTable(deployments, clock, began, ends) if changes else deployments,
        profiles=snapshot.profiles,
        keys=None
        if scenario.keys is None
        else build_credential_map((key.token, key.principal) for key in scenario.keys),
        clock=clock,
        started=clock.now(),
        tokenizer=_tokenizer_of,
        count_prompt=_count_prompt,
        count_chat=_count_chat,
        count_parts=_count_parts,
        metrics=metrics,
        bounds=scenario.bounds,
        options=_NoOptions() if ends else OptionsCache(),
    )


def _tokenizer_of(deployment: Deployment) -> Tokenizer:
    return tokenizer_for(deployment.tokenizer)


def _count_prompt(request: InferenceRequest, deployment: Deployment) -> tuple[int, ...]:
    return count_prompt(request, tokenizer_for(deployment.tokenizer))


def _count_chat(messages: Sequence[Message], tools: Sequence[Tool], deployment: Deployment) -> tuple[int, str]:
    return count_chat(messages, tools, tokenizer_for(deployment.tokenizer))


def _count_parts(parts: Sequence[str], last: str, media: int, deployment: Deployment) -> tuple[int, str]:
    return count_parts(parts, last, media, tokenizer_for(deployment.tokenizer))
