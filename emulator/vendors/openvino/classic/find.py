"""The model a path names, and whether it can be asked.

Source: model_server, src/modelmanager.cpp, getModelInstance, and src/kfs_frontend/kfs_grpc_inference_service.cpp.
"""

from __future__ import annotations

from emulator.core.call import Deployment
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.wire import WireRequest
from emulator.vendors.openvino.errors import MISSING_MODEL
from emulator.vendors.openvino.habits import OvmsService

_STATES = {
    "retired": "Model with requested version is retired",
    "ready": "",
}


def find_model(request: WireRequest, service: OvmsService, name: str) -> Deployment:
    """A servable of that name in its one version, graphs among them.

    Raises:
        EmulatedError: 404, there is none, or it is not available.
    """
    deployment = service.deployments.get(name)
    if deployment is None:
        raise EmulatedError(ErrorKind.NOT_FOUND, MISSING_MODEL)
    if request.params.get("version", "1") not in ("1", "0"):
        raise EmulatedError(ErrorKind.NOT_FOUND, "Model with requested version is not found")
    if text := _STATES.get(deployment.state, "Model with requested version is not loaded yet"):
        raise EmulatedError(ErrorKind.NOT_FOUND, text)
    return deployment
