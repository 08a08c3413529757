"""Handlers of the active scenario (``/_emulator/scenario``): show, replace, reset; list scenarios and deployments."""

from collections.abc import Mapping
from dataclasses import replace

from emulator.control import models
from emulator.control.handlers.sessions import check_vendor
from emulator.control.problem import show_file
from emulator.control.token_masks import mask_keys, resolve_text, restore_keys, show_text
from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.errors import ProblemError
from emulator.core.executor import run_in_thread, run_parsing
from emulator.core.json import JSON
from emulator.core.redaction.credentials import mask
from emulator.core.text import escape
from emulator.runtime.runtime import Runtime
from emulator.scenario.credentials import list_credentials
from emulator.scenario.errors import suggest_name
from emulator.scenario.load import load_bundled
from emulator.scenario.parsed import ParsedScenario


class ScenarioHandlers:
    """Handlers of the active scenario; each takes the query, the body and the name at the end of the path."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def get_scenario(self, query: models.SessionQuery, body: bytes, name: str) -> models.ScenarioState:
        active = self._runtime.for_session(query.session)
        loaded, scenario, emulator = active.loaded, active.loaded.scenario, active.emulator
        long = len(loaded.text or "") > INLINE_BYTES
        document, text = await run_in_thread(_show, loaded) if long else _show(loaded)
        return models.ScenarioState(
            name=scenario.name,
            description=scenario.description,
            hash=loaded.digest,
            seed=emulator.seed,
            strict=emulator.strict,
            vendors=list(active.apps),
            rules=[rule.name for rule in scenario.rules],
            sources=[escape(show_file(str(path))) for path in loaded.sources],
            document=document,
            text=text,
        )

    async def put_scenario(self, query: models.PutQuery, body: bytes, name: str) -> models.ScenarioState:
        if query.name is not None and body:
            raise ProblemError(400, "Two scenarios", "Send a scenario or name one of the library, not both.")
        if query.name is None:
            before = self._runtime.for_session(query.session).loaded
            text = resolve_text(body, before)
            loaded = restore_keys(await run_parsing(text, self._runtime.load, text), before)
            if query.default_name and not loaded.scenario.name:
                named = loaded.scenario.model_copy(update={"name": query.default_name})
                loaded = replace(loaded, scenario=named)
        else:
            loaded = self._select(query.name)
        await self._runtime.controller.put(loaded, query.session, query.seed)
        return await self.get_scenario(query, b"", "")

    @property
    def _library(self) -> Mapping[str, ParsedScenario]:
        """Return the scenarios to switch between: those of the command line, or else the bundled ones."""
        return self._runtime.library or load_bundled()

    def _select(self, name: str) -> ParsedScenario:
        library = self._library
        by_title = {loaded.scenario.name: loaded for loaded in library.values()}
        found = library.get(name) or by_title.get(name)
        if found is None:
            hint = suggest_name(name, [*library, *by_title]) or "."
            detail = f"The library has no scenario {name!r}{hint}"
            raise ProblemError(404, "No such scenario", detail)
        return found

    async def list_scenarios(self, query: models.NoQuery, body: bytes, name: str) -> models.Library:
        active = self._runtime.active.loaded
        return models.Library(
            scenarios=[
                models.LibraryEntry(
                    name=key,
                    title=loaded.scenario.name,
                    description=loaded.scenario.description,
                    hash=loaded.digest,
                    active=loaded is active,
                )
                for key, loaded in self._library.items()
            ]
        )

    async def reset(self, query: models.SessionQuery, body: bytes, name: str) -> models.ScenarioState:
        await self._runtime.controller.reset(query.session)
        return await self.get_scenario(query, b"", "")

    async def list_deployments(self, query: models.DeploymentsQuery, body: bytes, name: str) -> models.Deployments:
        apps = self._runtime.for_session(query.session).apps
        if query.vendor is not None:
            check_vendor(query.vendor, apps)
        return models.Deployments(
            deployments=[
                models.ServedDeployment.model_validate(deployment)
                for vendor, app in apps.items()
                if query.vendor in (None, vendor)
                for deployment in app.service.deployments.values()
            ]
        )

    async def list_examples(self, query: models.NoQuery, body: bytes, name: str) -> models.Examples:
        active = self._runtime.active
        keys = active.loaded.scenario.keys
        key = mask(keys[0].token) if keys else "any"
        return models.Examples(
            examples=[
                models.ExampleCall(
                    vendor=vendor,
                    path=app.vendor.chat_path,
                    model=app.vendor.choose_chat_model(app.service.deployments),
                    key=key,
                )
                for vendor, app in active.apps.items()
            ]
        )


def _show(loaded: ParsedScenario) -> tuple[JSON, str]:
    return list_credentials(loaded.scenario).redact_value(mask_keys(loaded.data)), show_text(loaded)
