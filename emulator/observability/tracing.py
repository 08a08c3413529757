"""Set up the export of spans over OTLP by OpenTelemetry's environment variables; off without them.

``spans.py`` builds the spans.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from emulator import __version__
from emulator.core.extras import explain_missing
from emulator.observability.spans import Spans

log = logging.getLogger("emulator")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"


def wants_traces(environ: Mapping[str, str]) -> bool:
    """Return whether the environment configures an exporter that is supported; log a warning for another one.

    Sources: opentelemetry.io, "Environment variable specification" and "OpenTelemetry Protocol Exporter".
    """
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = environ.get("OTEL_TRACES_EXPORTER") or ("otlp" if any(map(environ.get, _ENDPOINTS)) else "none")
    protocol = next(filter(None, map(environ.get, _PROTOCOLS)), _PROTOCOL)
    if exporter not in ("otlp", "none"):
        log.warning("no traces are sent: OTEL_TRACES_EXPORTER is %r, and only otlp is known", exporter)
    elif exporter == "otlp" and protocol != _PROTOCOL:
        log.warning("no traces are sent: OTLP is asked for by %r, and only %s is known", protocol, _PROTOCOL)
    return exporter == "otlp" and protocol == _PROTOCOL


@contextmanager
def open_spans(environ: Mapping[str, str]) -> Iterator[Spans | None]:
    """Yield the span factory, or ``None`` without an exporter; flush the spans at exit."""
    if not wants_traces(environ):
        yield None
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("no traces are sent: %s", explain_missing("their export", "otel"))
        yield None
        return
    provider = TracerProvider(resource=Resource.create(_name_service(environ)))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield Spans(provider)
    finally:
        provider.shutdown()


def _name_service(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the resource attributes; the service name is ``emulator`` unless the environment sets one."""
    named = environ.get("OTEL_SERVICE_NAME") or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return {"service.version": __version__, **({} if named else {"service.name": "emulator"})}
