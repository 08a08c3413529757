"""``/_emulator/``: health of the emulator itself, never touched by a scenario."""

from collections.abc import Mapping, Sequence

from aiohttp import web

from emulator import __version__
from emulator.core.clock import Clock
from emulator.core.json import JSON, dump_json


class ControlPlane:
    """Answers the paths no vendor may claim.

    ``ready`` and ``urls`` are set once everything listens.
    """

    def __init__(self, clock: Clock, scenario: str, scenario_hash: str) -> None:
        self._clock = clock
        self._started = clock.now()
        self._scenario = {"name": scenario, "hash": scenario_hash}
        self.ready = False
        self.urls: Mapping[str, str] = {}

    async def serve(self, http: web.BaseRequest) -> web.StreamResponse:
        """One request under ``/_emulator/``."""
        path = http.path.rstrip("/")
        if http.method not in ("GET", "HEAD"):
            return _problem(405, "Method not allowed", f"{http.method} {path}")
        if path == "/_emulator/health":
            return _json(200, self._health())
        if path == "/_emulator/ready":
            return _json(200 if self.ready else 503, {"ready": self.ready, "urls": dict(self.urls)})
        return _problem(404, "Not found", f"There is no {path}; try /_emulator/health or /_emulator/ready.")

    async def serve_unknown(self, http: web.BaseRequest, vendors: Sequence[str]) -> web.StreamResponse:
        """A front path that belongs to no vendor."""
        mounted = ", ".join(f"/{name}" for name in vendors)
        return _problem(404, "Not found", f"Nothing is mounted at {http.path}; vendors are under {mounted}.")

    def _health(self) -> JSON:
        uptime = round(self._clock.now() - self._started, 3)
        return {"status": "ok", "version": __version__, "uptime_seconds": uptime, "scenario": self._scenario}


def _json(status: int, value: JSON) -> web.Response:
    return web.Response(status=status, body=dump_json(value), content_type="application/json")


def _problem(status: int, title: str, detail: str) -> web.Response:
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return web.Response(status=status, body=dump_json(problem), content_type="application/problem+json")
