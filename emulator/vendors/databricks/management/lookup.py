"""Find endpoints by name: those of the scenario and the catalogue, with all changes made over the management API."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Request
from emulator.core.json import JSON
from emulator.core.requests import Deployment
from emulator.vendors.databricks.management.permission_levels import level_of, validate_access
from emulator.vendors.databricks.management.stored_endpoint import StoredEndpoint, deploy, deploy_entities
from emulator.vendors.databricks.profile import DatabricksService, DeploymentProfile, profile_deployment

Documents = Mapping[str, JSON]


@fast_dataclass(frozen=True, slots=True, eq=False)
class FoundEndpoint:
    """An endpoint; ``stored`` is ``None`` if it is unchanged."""

    deployment: Deployment
    profile: DeploymentProfile
    stored: StoredEndpoint | None = None


def find(name: str, documents: Documents, service: DatabricksService) -> FoundEndpoint | None:
    """Return the endpoint of a name; ``None`` if there is none."""
    base = service.deployments.get(name)
    document = documents.get(name)
    if document is None:
        return None if base is None or base.state == "retired" else FoundEndpoint(base, service.profiles[name])
    stored = StoredEndpoint.model_validate(document).settle(service.clock.now())
    return None if stored.deleted else open_stored(stored, service)


def open_stored(stored: StoredEndpoint, service: DatabricksService) -> FoundEndpoint:
    deployment = deploy(stored, service.deployments.get(stored.name))
    profile = profile_deployment(deployment, service.settings)
    deployments = deploy_entities(stored) if len(profile.entities) > 1 else {}
    entity_profiles = {name: profile_deployment(one, service.settings) for name, one in deployments.items()}
    return FoundEndpoint(deployment, replace(profile, entity_profiles=entity_profiles), stored)


def list_all(documents: Documents, service: DatabricksService) -> Iterator[FoundEndpoint]:
    """Yield all endpoints; those created over the API come last."""
    for name in dict.fromkeys([*service.deployments, *documents]):
        found = find(name, documents, service)
        if found is not None:
            yield found


def list_visible(request: Request, service: DatabricksService) -> Iterator[FoundEndpoint]:
    """Return the endpoints that the request's principal may view."""
    endpoints = list_all(request.documents, service)
    return (found for found in endpoints if level_of(found.stored, request.principal) is not None)


def find_managed(request: Request, service: DatabricksService) -> FoundEndpoint:
    """Return the endpoint of a management path.

    Raises:
        EmulatedError: it does not exist, or the principal may not view it.
    """
    name = request.params["name"]
    found = find(name, request.documents, service)
    if found is None:
        raise error_missing(f"Endpoint with name '{name}' does not exist.")  # databricks-demos/dbdemos issue 220
    validate_access(found.stored, request.principal, "CAN_VIEW")
    return found


def error_missing(text: str) -> EmulatedError:
    """Return the management API's error of a missing object (404)."""
    return EmulatedError(ErrorKind.NOT_FOUND, text, details={"error_code": "RESOURCE_DOES_NOT_EXIST"})
