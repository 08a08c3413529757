"""Profiles and switches."""

from typing import get_args

import pytest
from pydantic import ValidationError

from emulator.vendors.azure.settings import PROFILES, AzureSettings, Profile


@pytest.mark.covers("azure/profiles", "seed", "maas", "managed", "foundry", "aoai")
@pytest.mark.parametrize("profile", get_args(Profile))
def test_a_profile_sets_the_switches(profile: str) -> None:
    settings = AzureSettings.model_validate({"profile": profile})
    for name, value in PROFILES[profile].items():
        assert getattr(settings, name) == value


@pytest.mark.parametrize("profile", get_args(Profile))
def test_a_switch_wins_over_its_profile(profile: str) -> None:
    for name, value in AzureSettings(profile="maas").model_dump().items():
        if isinstance(value, bool):
            settings = AzureSettings.model_validate({"profile": profile, name: not value})
            assert getattr(settings, name) is not value


def test_a_switch_of_nothing_is_not_set() -> None:
    assert AzureSettings.model_validate({"profile": "foundry", "require_model": None}).require_model is True


def test_every_switch_is_explained() -> None:
    assert all(field.description for field in AzureSettings.model_fields.values())


@pytest.mark.parametrize("section", [{"profile": "x"}, {"profile": []}, {"unknown": 1}, {"error_shape": "x"}, 5])
def test_what_is_no_setting(section: object) -> None:
    with pytest.raises(ValidationError):
        AzureSettings.model_validate(section)
