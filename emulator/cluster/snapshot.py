"""Encode an active scenario as JSON and parse it, to pass it from one replica to the others; credentials are digests.

``replica.py`` stores such a snapshot with each change, and adopts those of other replicas.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from emulator.control.token_masks import mask_keys, show_text, with_keys
from emulator.core.clock import Clock, FrozenClock, InstantClock, RealClock
from emulator.core.json import JSON, Object, as_array, as_integer, as_number, as_text, dump_text
from emulator.core.redaction.credentials import CredentialDigest, digest_credential
from emulator.runtime.active import Activation, ActiveScenario
from emulator.scenario.credentials import MIN_TOKEN_LENGTH
from emulator.scenario.locations import KeyPath, Location, Locations
from emulator.scenario.models import Scenario
from emulator.scenario.parsed import ParsedScenario, ScenarioError
from emulator.scenario.reply_files import ReplyFiles, insert_replies


def encode_snapshot(
    active: ActiveScenario, clock: Clock | None, wall: float, *, started: float | None = None, epoch: str | None = None
) -> Object:
    """Encode an active scenario; a scenario from files is identified by its digest alone.

    Args:
        clock: clock of the scenario; ``None``: a session uses the server's.
        wall: time of the clock that all replicas share.
        started, epoch: start and epoch in place of the scenario's own.
    """
    loaded, emulator = active.loaded, active.emulator
    is_file = bool(loaded.sources) or loaded.data is None
    return {
        "scenario": None if is_file else encode_scenario(loaded),
        "digest": loaded.digest,
        "seed": emulator.seed,
        "started": emulator.started if started is None else started,
        "era": active.epoch if epoch is None else epoch,
        "clock": None if clock is None else encode_clock(clock, wall),
    }


def encode_scenario(loaded: ParsedScenario) -> Object:
    """Encode a scenario in full, with digests in place of credentials.

    Raises:
        ScenarioError: a credential also occurs in other text of the scenario.
    """
    keys = loaded.scenario.keys or ()
    shown = mask_keys(loaded.data)
    text = dump_text(shown)
    for position, key in enumerate(keys):
        if len(key.token) >= MIN_TOKEN_LENGTH and key.token in text:
            what = "it stands elsewhere in the scenario, too, where a shared store would keep it; name the principal"
            raise ScenarioError([loaded.row(("keys", position, "token"), what)])
    places = [loaded.locations.values.get(("keys", position, "token")) for position in range(len(keys))]
    sealed = [digest_credential(key.token) for key in keys]
    return {
        "name": loaded.scenario.name,
        "digest": loaded.digest,
        "data": shown,
        "answers": [[list(path), text] for path, text in loaded.answers.texts.items()],
        "text": None if loaded.text is None else show_text(loaded),
        "keys": [[key.digest, key.folded] for key in sealed],
        "places": [None if place is None else [place.file, place.line, place.column] for place in places],
    }


def parse_scenario(document: Object) -> ParsedScenario:
    """Parse a scenario that :func:`encode_scenario` encoded."""
    scenario = Scenario.model_validate(document["data"])
    texts = {_read_path(as_array(path)): as_text(text) for path, text in map(as_array, as_array(document["answers"]))}
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
    return replace(with_keys(loaded, keys, sealed) if keys else loaded, original_digest=as_text(document["digest"]))


def _read_path(path: Iterable[JSON]) -> KeyPath:
    return tuple([part if isinstance(part, str) else as_integer(part) for part in path])


def _read_places(places: Iterable[JSON]) -> Iterable[tuple[KeyPath, Location]]:
    for position, place in enumerate(places):
        if place is not None:
            file, line, column = as_array(place)
            path: KeyPath = ("keys", position, "token")
            yield path, Location(as_text(file), as_integer(line), as_integer(column), path)


def encode_clock(clock: Clock, wall: float) -> Object:
    """Encode a clock; ``wall``: current time of the clock that all replicas share."""
    kind = "real" if isinstance(clock, RealClock) else "instant" if isinstance(clock, InstantClock) else "frozen"
    scale = clock.scale if isinstance(clock, RealClock) else 0.0
    return {"kind": kind, "scale": scale, "now": clock.now(), "wall": wall, "spares_backoff": clock.spares_backoff}


def parse_clock(document: Object, wall: float) -> Clock:
    """Build a clock that continues an encoded one."""
    scale = as_number(document["scale"])
    now = as_number(document["now"]) + (wall - as_number(document["wall"])) * scale
    match document["kind"]:
        case "real":
            return RealClock(scale, now)
        case "instant":
            return InstantClock(now, spares_backoff=document.get("spares_backoff") is not False)
        case _:
            return FrozenClock(now)


def parse_activation(document: Mapping[str, JSON]) -> Activation:
    """Parse the activation of a snapshot, without its clock."""
    return Activation(None, as_number(document["started"]), as_text(document["era"]))
