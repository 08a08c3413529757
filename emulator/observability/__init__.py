"""Observability of requests: access log, Prometheus metrics, OpenTelemetry spans and timing accuracy."""
