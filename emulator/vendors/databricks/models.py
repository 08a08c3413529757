"""Load ``models.json``: the preconfigured endpoints of every workspace.

Sources: docs.databricks.com, "Databricks-hosted foundation models" and "Model Serving limits"; where they are silent,
litellm's model map. Version suffixes of most ``model`` values are unverified.

A group of models shares its ``defaults``. Of a model, ``entity`` is its Unity Catalog name, ``retires`` the day from
which Databricks stops serving it (the emulator continues), ``limits`` its pay-per-token limits by tier.
A member that is no field of a deployment is a trait.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from emulator.core.json import as_array, as_object, parse_json
from emulator.core.requests import Deployment
from emulator.core.vendor import VendorSettings

PRECONFIGURED_AT = 1733875200  # Unix seconds
_FIELDS = frozenset(field.name for field in fields(Deployment))


def _load_models() -> Iterator[Deployment]:
    groups = as_object(parse_json((Path(__file__).parent / "models.json").read_bytes()))
    for group in map(as_object, groups.values()):
        for model in as_array(group["models"]):
            yield _build_deployment({**as_object(group["defaults"]), **as_object(model)})


def _build_deployment(model: Mapping[str, Any]) -> Deployment:
    """Return the deployment of a model in the file."""
    known = {name: value for name, value in model.items() if name in _FIELDS}
    traits = {name: value for name, value in model.items() if name not in _FIELDS}
    return Deployment(vendor="databricks", traits=traits, **known)


CATALOGUE = tuple(_load_models())


def list_deployments(settings: VendorSettings) -> tuple[Deployment, ...]:
    """Return the preconfigured pay-per-token endpoints, including retired ones of the reference."""
    return CATALOGUE
