"""A workspace that is changed over HTTP."""

from tests.conftest import Start
from tests.http_client import Answer, Running
from tests.untyped_json import JSON

API = "/api/2.0/serving-endpoints"
LLAMA = {"entity_name": "system.ai.meta_llama_v3_1_8b_instruct", "entity_version": "2"}
CUSTOM = {"entity_name": "main.default.fraud", "entity_version": "3"}
TOKEN = {"Authorization": "Bearer dapi-x"}


def external(name: str = "gpt-4o", **fields: JSON) -> JSON:
    secret = {"openai_api_key_plaintext": "sk-1", "openai_api_base": "https://host"}
    model = {"name": name, "provider": "openai", "task": "llm/v1/chat", "openai_config": secret}
    return {"external_model": {**model, **fields}}


class Workspace:
    """Calls of the management API, and chats with what it makes."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.token = TOKEN

    async def call(self, method: str, path: str = "", body: JSON = None, base: str = API) -> Answer:
        return await self.running.ask("databricks", base + path, body, method=method, headers=self.token)

    async def make(self, *entities: JSON, name: str = "mine", **fields: JSON) -> Answer:
        config = {"served_entities": list(entities) or [LLAMA], **fields.pop("config", {})}
        return await self.call("POST", "", {"name": name, "config": config, **fields})

    async def get(self, name: str = "mine") -> JSON:
        return (await self.call("GET", f"/{name}")).json()

    async def chat(self, name: str = "mine", content: str = "Hello", **fields: JSON) -> Answer:
        body = {"messages": [{"role": "user", "content": content}], "max_tokens": 8, **fields}
        return await self.call("POST", f"/{name}/invocations", body, base="/serving-endpoints")

    def pass_time(self, seconds: float) -> None:
        self.running.built.runtime.advance(seconds)


async def open_workspace(start: Start, settings: str = "cold_start_s: 60", rest: str = "") -> Workspace:
    return Workspace(await start(f"vendors: {{databricks: {{{settings}}}}}\n{rest}"))
