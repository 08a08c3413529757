"""The languages worth writing well, by Faker locale."""

from collections.abc import Mapping

from emulator.engine.templates.base import Templates
from emulator.engine.templates.chinese import CHINESE
from emulator.engine.templates.english import ENGLISH
from emulator.engine.templates.german import GERMAN
from emulator.engine.templates.korean import KOREAN
from emulator.engine.templates.portuguese import PORTUGUESE

__all__ = ["TEMPLATES", "Templates"]

TEMPLATES: Mapping[str, Templates] = {
    "en_US": ENGLISH,
    "de_DE": GERMAN,
    "zh_CN": CHINESE,
    "ko_KR": KOREAN,
    "pt_BR": PORTUGUESE,
}
