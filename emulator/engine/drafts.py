"""Drafts of calls that came more than once: a draft is the same each time, so it is made once."""

from emulator.engine.write import Draft

_MOST = 512  # drafts
_HEAVIEST = 4096  # of one that is kept; a heavier one takes more room than time
_ROOM = 262_144  # all together weigh at most; some 40 MB where all of it is alternatives


class Drafts:
    """Those that are kept, by the identity of the call; the oldest go first."""

    def __init__(self) -> None:
        self._drafts: dict[bytes, Draft] = {}
        self._weight = 0

    def find(self, identity: bytes) -> Draft | None:
        """What a call was answered before, if that was kept."""
        return self._drafts.get(identity)

    def keep(self, identity: bytes, draft: Draft) -> None:
        """Keep the draft of a call that has none, unless it is vectors or too heavy."""
        if draft.vectors is not None or draft.weight > _HEAVIEST:
            return
        self._drafts[identity] = draft
        self._weight += draft.weight
        while len(self._drafts) > _MOST or self._weight > _ROOM:
            self._weight -= self._drafts.pop(next(iter(self._drafts))).weight
