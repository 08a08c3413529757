"""Profiles and switches."""

from typing import get_args

import pytest
from pydantic import ValidationError

from emulator.vendors.azure.settings import PROFILES, AzureSettings, Profile


@pytest.mark.covers("azure/profiles", "seed", "maas", "managed", "foundry", "aoai")
@pytest.mark.parametrize("profile", get_args(Profile))
def test_profile_sets_its_settings(profile: str) -> None:
    settings = AzureSettings.model_validate({"profile": profile})
    for name, value in PROFILES[profile].items():
        assert getattr(settings, name) == value


@pytest.mark.parametrize("profile", get_args(Profile))
def test_setting_overrides_profile(profile: str) -> None:
    for name, value in AzureSettings(profile="maas").model_dump().items():
        if isinstance(value, bool):
            settings = AzureSettings.model_validate({"profile": profile, name: not value})
            assert getattr(settings, name) is not value


def test_null_setting_leaves_profile_value() -> None:
    assert AzureSettings.model_validate({"profile": "foundry", "require_model": None}).require_model is True


def test_every_setting_is_described() -> None:
    assert all(field.description for field in AzureSettings.model_fields.values())


@pytest.mark.parametrize("section", [{"profile": "x"}, {"profile": []}, {"unknown": 1}, {"error_shape": "x"}, 5])
def test_invalid_settings_are_refused(section: object) -> None:
    with pytest.raises(ValidationError):
        AzureSettings.model_validate(section)
