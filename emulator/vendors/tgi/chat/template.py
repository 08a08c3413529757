"""Apply the rules of the model's chat template; render the template of the default model.

Source: the ``chat_template`` of mistralai/Mistral-7B-Instruct-v0.2 (``tokenizer_config.json``), and of its kin that
:data:`_ALTERNATING` names; text-generation-inference, ``router/src/infer/chat_template.rs:11-13`` (raise_exception) and
``router/src/infer/chat_template.rs:78-137`` (apply); minijinja 2.8, ``src/error.rs`` (Display).
"""

import re
from collections.abc import Iterable, Sequence

from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, dump_text
from emulator.core.requests import Deployment, Message, Tool
from emulator.core.vendor import Tokenizer
from emulator.vendors.tgi.errors import early_refusal
from emulator.vendors.tgi.generate.shapes import special_text

_ALTERNATING = re.compile(r"(?:.*/)?(?:Mistral-7B-Instruct-v0\.[12]|Mixtral-8x7B-Instruct-v0\.1)", re.IGNORECASE)
_ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/..."
_ROLES = "Only user and assistant roles are supported!"
_TOOL_PROMPT = (
    "\nGiven the functions available, please respond with a JSON for a function call with its proper arguments that "
    "best answers the given prompt. Respond in the format {name: function name, parameters: dictionary of argument "
    "name and its value}.Do not use variables.\n"
)


def alternates(deployment: Deployment) -> bool:
    """Return whether the template takes user and assistant in turn only: the trait ``alternates``, or by its name."""
    trait = deployment.traits.get("alternates")
    return trait if isinstance(trait, bool) else _ALTERNATING.fullmatch(deployment.name) is not None


def validate_roles(roles: Iterable[str]) -> None:
    """Raise what a template that takes user and assistant in turn raises at the first message that it does not take."""
    for position, role in enumerate(roles):
        if (role == "user") != (position % 2 == 0):
            raise _refusal(_ALTERNATE)
        if role not in ("user", "assistant"):
            raise _refusal(_ROLES)


def _refusal(text: str) -> EmulatedError:
    """Return the error of a template; ``1``: templates are one line."""
    return early_refusal(f"Template error: syntax error: {text} (in <string>:1)", "messages", "template_error")


def render_chat(
    messages: Sequence[Message],
    tools: Sequence[Tool],
    tool_prompt: str | None,
    deployment: Deployment,
    tokenizer: Tokenizer,
) -> str:
    """Render a conversation; that of a model with another template has the emulator's own, after its first token."""
    texts = [message.text for message in messages]
    if tools and texts:
        listed = dump_text([_format_tool(tool) for tool in tools])
        texts[-1] += f"\n---\n{listed}\n{tool_prompt or _TOOL_PROMPT}"
    begin = "" if tokenizer.bos is None else special_text(tokenizer, tokenizer.bos)
    turns = zip((message.role for message in messages), texts, strict=True)
    if not alternates(deployment):
        text = begin + "".join([f"<|{role}|>\n{text}\n" for role, text in turns]) + "<|assistant|>\n"
    else:
        end = special_text(tokenizer, tokenizer.eos)
        text = begin + "".join([f"[INST] {text} [/INST]" if role == "user" else text + end for role, text in turns])
    return _continue_last(text, messages[-1].role, texts[-1]) if messages else text


def _continue_last(text: str, role: str, content: str) -> str:
    """Cut the prompt behind the last message if it is the assistant's, which the model continues."""
    found = text.rfind(content)
    return text[: found + len(content)].rstrip() if role == "assistant" and found >= 0 else text


def _format_tool(tool: Tool) -> JSON:
    function: JSON = {
        "description": tool.description or None,
        "name": tool.name,
        "arguments": dump_text(tool.parameters),
    }
    return {"type": "function", "function": function}
