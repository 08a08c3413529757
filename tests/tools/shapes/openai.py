"""Shapes of OpenAI's requests, from its OpenAPI description."""

from typing import Any

Schema = dict[str, Any]

ROOTS = {
    "chat": "CreateChatCompletionRequest",
    "responses": "CreateResponse",
    "compact": "CompactResponseMethodPublicBody",
    "count": "TokenCountsBody",
    "conversation": "CreateConversationBody",
    "vector_store": "CreateVectorStoreRequest",
    "vector_store_update": "UpdateVectorStoreRequest",
    "vector_store_file": "CreateVectorStoreFileRequest",
    "vector_store_attributes": "UpdateVectorStoreFileAttributesRequest",
    "vector_store_batch": "CreateVectorStoreFileBatchRequest",
    "vector_store_search": "VectorStoreSearchRequest",
}
# Fields that the description requires and the service does not, or that clients leave out when they send items back.
OPTIONAL = {
    ("CreateChatCompletionRequest", "model"),
    ("FunctionTool", "parameters"),
    ("FunctionTool", "strict"),
    ("InputImageContent", "detail"),
    ("OutputTextContent", "annotations"),
    ("OutputTextContent", "logprobs"),
    ("OutputMessage", "id"),
    ("OutputMessage", "status"),
    ("OutputMessage", "type"),
    ("ReasoningItem", "id"),
    ("ToolChoiceFunction", "name"),
    ("ToolChoiceCustom", "name"),
    ("FunctionCallOutputItemParam", "call_id"),
}
# Fields beyond the description that the service takes.
ADDED: dict[str, dict[str, object]] = {
    # songquanpeng/one-api issue 1319: refused for half an hour, then taken
    "ChatCompletionMessageToolCall": {"index": "integer"},
    # an answer's message goes back as it came
    "ChatCompletionRequestAssistantMessage": {
        "annotations": {"array": "object"},
        "audio": "object",
        "context": "object",
        "end_turn": "boolean",
    },
    "ChatCompletionRequestToolMessage": {"name": "string"},
    "InputMessage": {"id": "string", "phase": {"enum": ["commentary", "final_answer"]}},
    "CreateResponse": {"generate": "boolean"},
    "CustomToolCall": {"status": {"enum": ["in_progress", "completed", "incomplete"]}},
    "CustomToolCallOutput": {"status": {"enum": ["in_progress", "completed", "incomplete"]}, "name": "string"},
}
_NAME = {"min": 1, "max": 64, "pattern": "^[a-zA-Z0-9_-]+$"}
_TEXT = {"bound": "string", "max": 10_485_760}  # VectorlyApp/bluebox issue 31
# Bounds beyond the description that the service keeps, by definition and path.
BOUNDS: dict[str, dict[str, dict[str, object]]] = {
    # BerriAI/litellm issue 11392 and Azure/azure-dev issue 7324 (ids), mcp-use/mcp-use issue 90 (name)
    "ChatCompletionMessageToolCall": {"id": {"max": 40}, "function.name": _NAME},
    "ChatCompletionMessageCustomToolCall": {"id": {"max": 40}},
    "ChatCompletionRequestToolMessage": {"tool_call_id": {"max": 40}},
    # gptscript-ai/gptscript issue 547; langchain-ai/langchain issue threads (empty)
    "ChatCompletionRequestAssistantMessage": {"tool_calls": {"min": 1, "max": 128}},
    # theopenco/llmgateway pull request 3110, buhlergroup/buhler-chat pull request 181 (Azure)
    "CreateChatCompletionRequest": {"prompt_cache_key": {"max": 64}},
    "CreateResponse": {
        "prompt_cache_key": {"max": 64},
        "user": {"max": 64},  # maximhq/bifrost pull request 1000; of chats unverified
        "previous_response_id": {"prefix": "resp"},  # ProjectTech4DevAI/kaapi-backend issue 317
        "conversation": {"prefix": "conv"},
    },
    "ConversationParam-2": {"id": {"prefix": "conv"}},
    "CompactResponseMethodPublicBody": {"prompt_cache_key": {"max": 64}, "previous_response_id": {"prefix": "resp"}},
    "TokenCountsBody": {"previous_response_id": {"prefix": "resp"}, "conversation": {"prefix": "conv"}},
    # openai/codex issue 14355 (Azure), earendil-works/pi issue 2917 (call_id), NousResearch/hermes-agent issue 31666
    # and diegosouzapw/OmniRoute issue 346 (name), openai/openai-cs-agents-demo issue 34 (Azure, id)
    "FunctionToolCall": {
        "id": {"max": 64, "prefix": "fc"},
        "call_id": {"min": 1, "max": 64},
        "name": {"min": 1, "max": 128, "pattern": "^[a-zA-Z0-9_-]+$"},
    },
    "FunctionCallOutputItemParam": {"id": {"max": 64, "prefix": "fc"}},
    # can1357/oh-my-pi issue 977 (ctc)
    "CustomToolCall": {"id": {"max": 64, "prefix": "ctc"}, "call_id": {"min": 1, "max": 64}},
    "CustomToolCallOutput": {"id": {"max": 64, "prefix": "ctco"}, "call_id": {"min": 1, "max": 64}},
    # openai/codex issue 33176 (msg), jlcodes99/cockpit-tools issue 2090 (rs)
    "OutputMessage": {"id": {"max": 64, "prefix": "msg"}},
    "InputMessage": {"id": {"max": 64, "prefix": "msg"}},
    "ReasoningItem": {"id": {"max": 64, "prefix": "rs"}},
    "WebSearchToolCall": {"id": {"max": 64, "prefix": "ws"}},
}
_LIMITS = {
    "minimum": "min", "maximum": "max", "minLength": "min", "maxLength": "max", "minItems": "min", "maxItems": "max",
    "pattern": "pattern",
}  # fmt: skip
_EXACT = 2**53  # the description's bounds of a seed are rounded

# Parts of a message of any role beyond the description: the service lists them in its error of an unknown part.
PARTS: dict[str, object] = {
    "input_text": "#InputTextContent",
    "input_image": "#InputImageContent",
    "output_text": "#OutputTextContent",
    "refusal": "#RefusalContent",
    "input_file": "#InputFileContent",
    "computer_screenshot": "#ComputerScreenshotImage",
    "summary_text": "#SummaryTextContent",
}
AUDIO = {"fields": {"type": "string", "input_audio": "object"}, "required": ["input_audio"]}  # taken and not listed
# Choices of tools that openai-python's users name and the description lacks.
CHOICES = ("web_search", "web_search_2025_08_26", "local_shell")
# Fields of Azure OpenAI. Source: Azure/azure-rest-api-specs, AzureOpenAI inference, 2024-10-21 and 2025-04-01-preview.
AZURE = {
    "CreateChatCompletionRequest": {"data_sources": {"array": "object"}, "user_security_context": "object"},
}


def bound(shape: object, limits: dict[str, object]) -> object:
    """Return a shape whose texts, lists and numbers keep limits, in place of those that it has."""
    if isinstance(shape, dict) and "any" in shape:
        taken = [one for one in shape["any"] if not (isinstance(one, str) and one.startswith("#"))]
        return {"any": [bound(one, limits) if one in taken[:1] else one for one in shape["any"]]}
    if not limits or not (shape in ("string", "integer", "number") or isinstance(shape, dict)):
        return shape
    inner = shape["bound"] if isinstance(shape, dict) and "bound" in shape else shape
    return {"bound": inner, **limits}


def _set_bounds(fields: dict[str, object], name: str) -> None:
    for path, limits in BOUNDS.get(name, {}).items():
        *outer, key = path.split(".")
        place: Any = fields
        for step in outer:
            place = place.get(step, {}).get("fields", {})
        if key in place:  # a part of the definition may lack it
            place[key] = bound(place[key], limits)


class Table:
    """Definitions, in the order in which the roots reach them."""

    def __init__(self, schemas: Schema) -> None:
        self._schemas = schemas
        self.shapes: dict[str, object] = {}

    def name(self, name: str) -> object:
        """Return a reference to a definition of an object, and other shapes in place."""
        if name not in self.shapes:
            self.shapes[name] = "any"  # while it is built, for shapes within themselves
            shape = self.build(self._schemas[name], name)
            if not (isinstance(shape, dict) and "fields" in shape):
                del self.shapes[name]
                return shape
            self.shapes[name] = shape
        return f"#{name}"

    def build(self, schema: Schema, name: str = "") -> object:
        if "$ref" in schema:
            return self.name(schema["$ref"].rsplit("/", 1)[1])
        if "allOf" in schema:
            return self._merge(schema, name)
        for union in ("anyOf", "oneOf"):
            if union in schema:
                return self._join([self.build(one) for one in schema[union] if one.get("type") != "null"])
        return self._build_plain(schema, name)

    def _build_plain(self, schema: Schema, name: str) -> object:
        kind = schema.get("type", "any")
        kinds = [one for one in kind if one != "null"] if isinstance(kind, list) else [kind]
        if "enum" in schema:
            return {"enum": [value for value in schema["enum"] if value is not None]}
        if "const" in schema:
            return {"enum": [schema["const"]]}
        if schema.get("properties"):
            return self._build_object(schema, name)
        limits = {
            key: schema[name]
            for name, key in _LIMITS.items()
            if name in schema and (isinstance(schema[name], str) or abs(schema[name]) < _EXACT)
        }
        return self._join(
            [bound({"array": self.build(schema.get("items", {}))} if one == "array" else one, limits) for one in kinds]
        )

    def _build_object(self, schema: Schema, name: str) -> object:
        fields = {key: self.build(value) for key, value in schema["properties"].items()}
        fields |= ADDED.get(name, {}) | AZURE.get(name, {})
        _set_bounds(fields, name)
        required = [key for key in schema.get("required", ()) if key in fields and (name, key) not in OPTIONAL]
        return {"fields": fields, "required": required} if required else {"fields": fields}

    def _merge(self, schema: Schema, name: str) -> object:
        fields: dict[str, object] = {}
        required: list[str] = []
        for part in [*schema["allOf"], schema]:
            found = self._schemas[part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part
            built = self._merge(found, "") if "allOf" in found and found is not schema else None
            if built is None and "properties" in found:
                built = self._build_object(found, name)
            if not isinstance(built, dict):
                continue
            fields |= built.get("fields", {})
            required += built.get("required", [])
        if not fields:
            return self.build(schema["allOf"][0], name)
        fields |= ADDED.get(name, {}) | AZURE.get(name, {})
        _set_bounds(fields, name)
        needed = sorted({key for key in required if (name, key) not in OPTIONAL})
        return {"fields": fields, "required": needed}

    def _join(self, shapes: list[object]) -> object:
        flat: list[object] = []
        for shape in shapes:
            inner = shape["any"] if isinstance(shape, dict) and "any" in shape else [shape]
            flat += [one for one in inner if one not in flat]
        if any(one == "string" or (isinstance(one, dict) and one.get("bound") == "string") for one in flat):
            flat = [one for one in flat if not (isinstance(one, dict) and "enum" in one)]
        objects: list[object] = [one for one in flat if isinstance(one, str) and one.startswith("#")]
        objects += [one for one in flat if isinstance(one, dict) and ("fields" in one or "kinds" in one)]
        others = [one for one in flat if one not in objects]
        joined = [*others, *self._tag(objects)]
        return joined[0] if len(joined) == 1 else {"any": joined}

    def _tag(self, objects: list[object]) -> list[object]:
        """Return objects joined by the field that tells them apart, as far as there is one."""
        if len(objects) < 2:
            return objects
        for tag in ("type", "role"):
            found = [self._list_kinds(one, tag) for one in objects]
            if all(found):
                kinds: dict[str, object] = {}
                for one in found:
                    kinds = {**kinds, **{value: shape for value, shape in one.items() if value not in kinds}}
                return [{"tag": tag, "kinds": kinds}]
        return objects

    def _list_kinds(self, shape: object, tag: str) -> dict[str, object]:
        """Return shapes by the values of the tag; empty if it does not tell them apart."""
        if isinstance(shape, dict) and "kinds" in shape:
            return dict(shape["kinds"]) if shape["tag"] == tag else {}
        found = self.shapes.get(shape[1:]) if isinstance(shape, str) else shape
        field = found.get("fields", {}).get(tag) if isinstance(found, dict) else None
        return dict.fromkeys(field["enum"], shape) if isinstance(field, dict) and "enum" in field else {}


def list_openai(document: Schema) -> dict[str, object]:
    """Return the table of a description."""
    schemas = document["components"]["schemas"]
    schemas["CreateVectorStoreFileBatchRequest"].pop("anyOf")  # one of two fields, beside the description of both
    table = Table(schemas)
    for name, root in ROOTS.items():
        table.shapes[name] = table.name(root)
    filters = table.shapes["VectorStoreSearchRequest"]["fields"]["filters"]  # type: ignore[index]
    table.shapes["CompoundFilter"]["fields"]["filters"] = {"array": filters}  # type: ignore[index]
    chat = table.shapes["CreateChatCompletionRequest"]["fields"]  # type: ignore[index]
    chat["messages"] = chat["messages"]["bound"]  # of which each that is plain is left out
    table.shapes["message"] = chat["messages"]["array"]
    table.shapes["tool"] = table.shapes["CreateResponse"]["fields"]["tools"]["array"]  # type: ignore[index]
    choices = table.shapes["CreateResponse"]["fields"]["tool_choice"]["any"][1]["kinds"]  # type: ignore[index]
    choices |= {key: {"fields": {"type": "string"}} for key in CHOICES}
    table.shapes["item"] = _list_items(table)
    for body in ("CompactResponseMethodPublicBody", "CreateResponse", "TokenCountsBody"):
        table.shapes[body]["fields"]["input"] = {"any": [_TEXT, {"array": "#item"}]}  # type: ignore[index]
    for field in ("tools", "tool_choice"):
        table.shapes["TokenCountsBody"]["fields"][field] = table.shapes["CreateResponse"]["fields"][field]  # type: ignore[index]
    return table.shapes


def _list_items(table: Table) -> object:
    """Return the items of ``input``: messages by their role, as they have two kinds of assistant's."""
    joined = table.build({"$ref": "#/components/schemas/InputItem"})
    assert isinstance(joined, dict)
    kinds = dict(joined["kinds"])
    message = table.shapes["InputMessage"]
    answer = table.shapes["OutputMessage"]
    assert isinstance(message, dict)
    assert isinstance(answer, dict)
    parts = {"tag": "type", "kinds": PARTS | {"input_audio": AUDIO}, "listed": list(PARTS)}
    message["fields"]["content"] = {"any": [_TEXT, {"array": parts}]}
    answer["fields"]["content"] = {"any": [_TEXT, answer["fields"]["content"]]}
    # a state belongs to an item that has an id: huggingface and openai-agents issue threads, ``input[0].status``
    message["needs"] = answer["needs"] = {"status": "id"}
    roles = {role: "#InputMessage" for role in ("user", "system", "developer")} | {"assistant": "#OutputMessage"}
    kinds["message"] = {"tag": "role", "kinds": roles}
    return {"tag": "type", "kinds": kinds, "default": "message"}
