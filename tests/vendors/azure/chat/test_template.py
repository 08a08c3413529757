"""The usual answer is, from its template, what it would be put together of its parts."""

import pytest

from emulator.core.plan import Choice, Plan, Segment, Tokens, Usage
from emulator.core.requests import Deployment
from emulator.vendors.azure.chat.render import ChatCodec, render_whole
from emulator.vendors.azure.chat.template import encode_plain
from emulator.vendors.azure.profile import profile_deployment
from emulator.vendors.azure.settings import AzureSettings, Profile

TEXT = ("It's 100 %", ' "so"\n', "é潮\\")
PROFILES: list[Profile] = ["seed", "maas", "managed", "foundry", "aoai"]


@pytest.mark.parametrize("dialect", PROFILES)
@pytest.mark.parametrize("model", ["mistral-small-2503", "gpt-4o", "o3-mini", '100 %d "quoted"', "DeepSeek-R1"])
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_template_is_filled_as_the_parts_are_joined(dialect: Profile, model: str, finish: str) -> None:
    profile = profile_deployment(Deployment(vendor="azure", name=model), AzureSettings(profile=dialect))[dialect]
    choice = Choice(
        Tokens(TEXT, (1, 2, 3)), (0.0,) * 3, "stop" if finish == "stop" else "length", (Segment("text", 0, 3),)
    )
    plan = Plan(bytes(range(16)), 1700000000.7, (choice,), usage=Usage(11, 3, 2))
    codec = ChatCodec(profile=profile, usage=True, named_tool=False)
    assert encode_plain(plan, profile) == render_whole(plan, codec)
