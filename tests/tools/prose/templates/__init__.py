"""The languages worth writing well, by Faker locale."""

from collections.abc import Mapping

from tests.tools.prose.templates.base import Templates
from tests.tools.prose.templates.chinese import CHINESE
from tests.tools.prose.templates.english import ENGLISH
from tests.tools.prose.templates.german import GERMAN
from tests.tools.prose.templates.korean import KOREAN
from tests.tools.prose.templates.portuguese import PORTUGUESE

__all__ = ["TEMPLATES", "Templates"]

TEMPLATES: Mapping[str, Templates] = {
    "en_US": ENGLISH,
    "de_DE": GERMAN,
    "zh_CN": CHINESE,
    "ko_KR": KOREAN,
    "pt_BR": PORTUGUESE,
}
