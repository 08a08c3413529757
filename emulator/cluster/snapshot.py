"""How a world stands, as JSON that one replica writes and the others read; no credential is whole in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from emulator.control.credentials import mask_keys, show_text, with_keys
from emulator.core.clock import Clock, FrozenClock, InstantClock, RealClock
from emulator.core.json import JSON, Object, as_array, as_integer, as_number, as_text, dump_text
from emulator.core.redaction.credentials import CredentialDigest, digest_credential
from emulator.runtime.active import Activation, ActiveScenario
from emulator.scenario.credentials import TELLING
from emulator.scenario.locations import KeyPath, Location, Locations
from emulator.scenario.models import Scenario
from emulator.scenario.parsed import ParsedScenario, ScenarioError
from emulator.scenario.reply_files import ReplyFiles, insert_replies


def write_world(
    active: ActiveScenario, clock: Clock | None, wall: float, *, started: float | None = None, era: str | None = None
) -> Object:
    """How a world stands; a scenario of files is known to all by its digest.

    Args:
        clock: its own; ``None``: a session's that is the server's.
        wall: what the clock says that all replicas share.
        started, era: in place of its own.
    """
    loaded, emulator = active.loaded, active.emulator
    is_file = bool(loaded.sources) or loaded.data is None
    return {
        "scenario": None if is_file else write_scenario(loaded),
        "digest": loaded.digest,
        "seed": emulator.seed,
        "started": emulator.started if started is None else started,
        "era": active.epoch if era is None else era,
        "clock": None if clock is None else write_clock(clock, wall),
    }


def write_scenario(loaded: ParsedScenario) -> Object:
    """A scenario whole, but for its credentials, of which digests go.

    Raises:
        ScenarioError: a credential also stands where it cannot be told from other text.
    """
    keys = loaded.scenario.keys or ()
    shown = mask_keys(loaded.data)
    text = dump_text(shown)
    for position, key in enumerate(keys):
        if len(key.token) >= TELLING and key.token in text:
            what = "it stands elsewhere in the scenario, too, where a shared store would keep it; name the principal"
            raise ScenarioError([loaded.row(("keys", position, "token"), what)])
    places = [loaded.locations.values.get(("keys", position, "token")) for position in range(len(keys))]
    sealed = [digest_credential(key.token) for key in keys]
    return {
        "name": loaded.scenario.name,
        "digest": loaded.digest,
        "data": shown,
        "answers": [[list(path), said] for path, said in loaded.answers.texts.items()],
        "text": None if loaded.text is None else show_text(loaded),
        "keys": [[key.digest, key.folded] for key in sealed],
        "places": [None if place is None else [place.file, place.line, place.column] for place in places],
    }


def read_scenario(document: Object) -> ParsedScenario:
    """What :func:`write_scenario` wrote."""
    scenario = Scenario.model_validate(document["data"])
    texts = {_read_path(as_array(path)): as_text(said) for path, said in map(as_array, as_array(document["answers"]))}
    text = document["text"]
    loaded = ParsedScenario(
        insert_replies(scenario.model_copy(update={"name": document["name"]}), texts),
        data=document["data"],
        locations=Locations(values=dict(_read_places(as_array(document["places"])))),
        answers=ReplyFiles(texts),
        text=None if text is None else as_text(text),
    )
    keys = scenario.keys or ()
    digests = [[as_text(digest) for digest in as_array(pair)] for pair in as_array(document["keys"])]
    sealed = [CredentialDigest(key.token, *pair) for key, pair in zip(keys, digests, strict=True)]
    return replace(with_keys(loaded, keys, sealed) if keys else loaded, known_as=as_text(document["digest"]))


def _read_path(path: Iterable[JSON]) -> KeyPath:
    return tuple([part if isinstance(part, str) else as_integer(part) for part in path])


def _read_places(places: Iterable[JSON]) -> Iterable[tuple[KeyPath, Location]]:
    for position, place in enumerate(places):
        if place is not None:
            file, line, column = as_array(place)
            path: KeyPath = ("keys", position, "token")
            yield path, Location(as_text(file), as_integer(line), as_integer(column), path)


def write_clock(clock: Clock, wall: float) -> Object:
    """What a clock says now, at ``wall`` by the clock that all replicas share."""
    kind = "real" if isinstance(clock, RealClock) else "instant" if isinstance(clock, InstantClock) else "frozen"
    scale = clock.scale if isinstance(clock, RealClock) else 0.0
    return {"kind": kind, "scale": scale, "now": clock.now(), "wall": wall}


def read_clock(document: Object, wall: float) -> Clock:
    """A clock that says what the one says that was written."""
    scale = as_number(document["scale"])
    now = as_number(document["now"]) + (wall - as_number(document["wall"])) * scale
    match document["kind"]:
        case "real":
            return RealClock(scale, now)
        case "instant":
            return InstantClock(now)
        case _:
            return FrozenClock(now)


def read_beginning(document: Mapping[str, JSON]) -> Activation:
    """Return how a world begins that others have at work; its clock is read apart."""
    return Activation(None, as_number(document["started"]), as_text(document["era"]))
