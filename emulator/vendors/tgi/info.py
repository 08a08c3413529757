"""Routes that report TGI's model, limits and health: ``/info``, ``/health``, ``/v1/models``.

Source: text-generation-inference, ``router/src/server.rs``, release 3.3.7; release 0.9.4 at its tag.
"""

from emulator.core.http import Request, Response
from emulator.core.json import Object, dump_json
from emulator.core.requests import Deployment
from emulator.protocols.tgi import find_served, validate_ready
from emulator.vendors.tgi.headers import CORS, JSON_HEADERS
from emulator.vendors.tgi.request import measure_input, validate_started
from emulator.vendors.tgi.settings import TgiService, TgiSettings


def list_deployments(settings: TgiSettings) -> tuple[Deployment, ...]:
    """Return the single model a server has if the scenario names none."""
    context = settings.max_total_tokens
    return (Deployment(vendor="tgi", name=settings.model_id, context=context, tokenizer="mistral"),)


def handle_health(request: Request, service: TgiService) -> Response:
    validate_ready(find_served(service))
    return Response(200, b"", CORS)


def handle_models(request: Request, service: TgiService) -> Response:
    name = validate_started(find_served(service)).name
    model: Object = {"id": name, "object": "model", "created": 0, "owned_by": name}
    return Response(200, dump_json({"object": "list", "data": [model]}), JSON_HEADERS)


def handle_info(request: Request, service: TgiService) -> Response:
    validate_started(find_served(service))
    return Response(200, dump_json(_build_info(service)), JSON_HEADERS)


def _build_info(service: TgiService) -> Object:
    settings, deployment, old = service.settings, find_served(service), service.settings.old
    limit, total = measure_input(settings, deployment)
    device: Object = {"model_dtype": "torch.float16", "model_device_type": "cuda"}
    batching: Object = {"waiting_served_ratio": 1.2, "max_batch_total_tokens": 32000, "max_waiting_tokens": 20}
    router: Object = {"max_client_batch_size": settings.max_client_batch_size, "router": "text-generation-router"}
    return {
        "model_id": deployment.name,
        "model_sha": settings.model_sha,
        **(device if old else {}),
        "model_pipeline_tag": settings.pipeline_tag,
        "max_concurrent_requests": settings.max_concurrent_requests,
        "max_best_of": settings.max_best_of,
        "max_stop_sequences": settings.max_stop_sequences,
        "max_input_length" if old else "max_input_tokens": limit,
        "max_total_tokens": total,
        **(batching if old else {}),
        "validation_workers": settings.validation_workers,
        **({} if old else router),
        "version": settings.version,
        "sha": settings.sha,
        "docker_label": settings.docker_label,
    }
