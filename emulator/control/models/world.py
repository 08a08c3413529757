"""The scenario at work, its clock, the sessions beside it, and the process."""

from typing import Literal, Self

from pydantic import Field, model_validator

from emulator.control.models.base import Duration, Given, SessionQuery, Taken
from emulator.core.json import JSON
from emulator.scenario.schema import Clock


class PutQuery(SessionQuery):
    name: str | None = Field(default=None, description="A scenario of the library; absent: the body is one, as YAML.")
    seed: int | None = Field(default=None, ge=0, description="In place of the scenario's own.")


class ScenarioName(Given):
    name: str
    hash: str = Field(description="Changes with the content.")


class ScenarioState(Given):
    name: str
    description: str
    hash: str = Field(description="Changes with the content.")
    seed: int
    strict: bool
    vendors: list[str] = Field(description="Those that are served.")
    rules: list[str] = Field(description="Names, in order.")
    sources: list[str] = Field(description="Files it was read from, without the folders of the machine.")
    document: JSON = Field(description="The scenario as it was written; tokens of `keys` are cut.")
    text: str = Field(description="The same as text to edit; tokens of `keys` are cut.")


class LibraryEntry(Given):
    name: str = Field(description="What `PUT /scenario?name=` takes.")
    title: str = Field(description="The scenario's own name.")
    description: str
    hash: str
    active: bool


class Library(Given):
    scenarios: list[LibraryEntry]


class Advance(Taken):
    advance: Duration | None = Field(default=None, description="How far the clock is to move, in scenario time.")
    clock: Clock | None = Field(
        default=None, description="How time is to go from now on: real, instant, frozen, or a scale."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.advance is None and self.clock is None:
            raise ValueError("expected advance, clock or both")
        return self


class ClockState(Given):
    kind: Literal["real", "scale", "instant", "frozen"] = Field(description="How time passes.")
    scale: float = Field(description="Scenario seconds in one real second; 0 where time does not pass by itself.")
    now: float = Field(description="Unix seconds.")
    time: str = Field(description="The same as ISO 8601.")
    since_start: float = Field(description="Scenario seconds since start or reset.")


class Listen(Taken):
    vendor: str = Field(description="Whose paths begin at the root of the port.")


class Listening(Given):
    url: str = Field(description="The vendor's base URL, until the session ends.")


class SessionState(Given):
    name: str
    scenario: str = Field(description="Name of the scenario it runs.")
    calls: int = Field(description="How many calls it had.")
    idle_seconds: float = Field(description="Real seconds since its last use.")


class SessionList(Given):
    sessions: list[SessionState] = Field(description="Least recently used first.")


class SessionEnded(Given):
    name: str


class Health(Given):
    status: Literal["ok"] = "ok"
    version: str
    uptime_seconds: float
    scenario: ScenarioName


class Ready(Given):
    ready: bool
    urls: dict[str, str] = Field(description="Base URL of the front and of each vendor.")


class DeploymentsQuery(SessionQuery):
    vendor: str | None = Field(default=None, description="Of this vendor alone.")


class DeploymentEntry(Given):
    vendor: str
    name: str = Field(description="What a client asks for.")
    task: str = Field(description="chat, completions, embeddings, rerank or images.")
    model: str = Field(description="What the answer's `model` field says.")
    state: str = Field(description="ready, or why it does not answer.")
    context: int | None = Field(description="Tokens of prompt and answer together; null: no bound.")


class Deployments(Given):
    deployments: list[DeploymentEntry] = Field(description="By vendor, each in the order of its catalogue.")
