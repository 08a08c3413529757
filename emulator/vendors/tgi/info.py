"""Routes that report TGI's model, limits and health: ``/info``, ``/health``, ``/v1/models``.

Source: text-generation-inference, ``router/src/server.rs``, release 3.3.7; release 0.9.4 at its tag.
"""

from emulator.core.http import Request, Response
from emulator.core.json import JSON, Object, dump_json
from emulator.core.requests import Deployment
from emulator.protocols.tgi import find_served, validate_ready
from emulator.vendors.tgi.headers import CORS, JSON_HEADERS
from emulator.vendors.tgi.request import measure_input, validate_started
from emulator.vendors.tgi.settings import TgiService, TgiSettings


def list_deployments(settings: TgiSettings) -> tuple[Deployment, ...]:
    """Return the single model a server has if the scenario names none."""
    return (
        Deployment(
            vendor="tgi",
            name=settings.model_id,
            context=settings.max_total_tokens,
            tokenizer="mistral",
        ),
    )


def handle_health(request: Request, service: TgiService) -> Response:
    validate_ready(find_served(service))
    return Response(200, b"", CORS)


def handle_models(request: Request, service: TgiService) -> Response:
    name = validate_started(find_served(service)).name
    model: Object = {"id": name, "object": "model", "created": 0, "owned_by": name}
    return Response(200, dump_json({"object": "list", "data": [model]}), JSON_HEADERS)


def handle_info(request: Request, service: TgiService) -> Response:
    validate_started(find_served(service))
    described = _build_old_info(service) if service.settings.old else _build_info(service)
    return Response(200, dump_json(described), JSON_HEADERS)


def _build_info(service: TgiService) -> JSON:
    settings = service.settings
    deployment = find_served(service)
    limit, total = measure_input(settings, deployment)
    return {
        "model_id": deployment.name,
        "model_sha": settings.model_sha,
        "model_pipeline_tag": settings.pipeline_tag,
        "max_concurrent_requests": settings.max_concurrent_requests,
        "max_best_of": settings.max_best_of,
        "max_stop_sequences": settings.max_stop_sequences,
        "max_input_tokens": limit,
        "max_total_tokens": total,
        "validation_workers": settings.validation_workers,
        "max_client_batch_size": settings.max_client_batch_size,
        "router": "text-generation-router",
        "version": settings.version,
        "sha": settings.sha,
        "docker_label": settings.docker_label,
    }


def _build_old_info(service: TgiService) -> JSON:
    settings = service.settings
    deployment = find_served(service)
    limit, total = measure_input(settings, deployment)
    return {
        "model_id": deployment.name,
        "model_sha": settings.model_sha,
        "model_dtype": "torch.float16",
        "model_device_type": "cuda",
        "model_pipeline_tag": settings.pipeline_tag,
        "max_concurrent_requests": settings.max_concurrent_requests,
        "max_best_of": settings.max_best_of,
        "max_stop_sequences": settings.max_stop_sequences,
        "max_input_length": limit,
        "max_total_tokens": total,
        "waiting_served_ratio": 1.2,
        "max_batch_total_tokens": 32000,
        "max_waiting_tokens": 20,
        "validation_workers": settings.validation_workers,
        "version": settings.version,
        "sha": settings.sha,
        "docker_label": settings.docker_label,
    }
