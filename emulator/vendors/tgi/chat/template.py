"""Render a conversation in the model's chat template, which may refuse it, and count the tokens of the prompt.

Source: the ``chat_template`` of mistralai/Mistral-7B-Instruct-v0.2 (``tokenizer_config.json``), and of its kin that
:data:`_ALTERNATING` names; text-generation-inference, ``router/src/infer/chat_template.rs:11-13`` (raise_exception) and
``router/src/infer/chat_template.rs:78-137`` (apply); minijinja 2.8, ``src/error.rs`` (Display).
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from emulator.core.cache import lru
from emulator.core.errors import EmulatedError
from emulator.core.json import JSON, parse_json
from emulator.core.requests import Deployment
from emulator.core.vendor import ChatTemplate, ChatTemplateError, Tokenizer
from emulator.vendors.tgi.errors import early_refusal
from emulator.vendors.tgi.generate.shapes import special_text
from emulator.vendors.tgi.settings import TgiService
from emulator.vendors.tgi.tools import OfferedTool

Turn = tuple[str, str]
"""Role and text of a message."""

_ALTERNATING = re.compile(r"(?:.*/)?(?:Mistral-7B-Instruct-v0\.[12]|Mixtral-8x7B-Instruct-v0\.1)", re.IGNORECASE)
_ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/..."
_TURN = "<|"  # begins a turn of the emulator's own template
_MAX_FRAME = 32  # characters around a message
_ROLES = "Only user and assistant roles are supported!"
_TOOL_PROMPT = (
    "\nGiven the functions available, please respond with a JSON for a function call with its proper arguments that "
    "best answers the given prompt. Respond in the format {name: function name, parameters: dictionary of argument "
    "name and its value}.Do not use variables.\n"
)


def alternates(deployment: Deployment) -> bool:
    """Return whether the template takes user and assistant in turn only: the trait ``alternates``, or by its name."""
    trait = deployment.traits.get("alternates")
    return trait if isinstance(trait, bool) else _alternates_by_name(deployment.name)


@lru(64)
def _alternates_by_name(name: str) -> bool:
    return _ALTERNATING.fullmatch(name) is not None


def _validate_roles(turns: Iterable[Turn]) -> None:
    """Raise the template's error at the first message that breaks the alternation of user and assistant."""
    for position, (role, _) in enumerate(turns):
        if (role == "user") != (position % 2 == 0):
            raise _refusal(_ALTERNATE)
        if role not in ("user", "assistant"):
            raise _refusal(_ROLES)


def _refusal(text: str, line: int = 1) -> EmulatedError:
    """Return the error of a template."""
    return early_refusal(f"Template error: syntax error: {text} (in <string>:{line})", "messages", "template_error")


def render_chat(
    turns: Sequence[Turn],
    tools: Sequence[OfferedTool],
    tool_prompt: str | None,
    deployment: Deployment,
    tokenizer: Tokenizer,
    *,
    extends: bool = True,
) -> str:
    """Render a conversation in the template of the vocabulary, of the default model, or in the emulator's own.

    The emulator's own begins with the first token, too. Tools are appended to the last message, unless the template
    takes them itself.

    Args:
        extends: the last message has a content, to which tools can be appended.

    Raises:
        EmulatedError: the template refuses the conversation.
    """
    template = tokenizer.render
    if tools and turns and extends:
        takes_tools = template is not None and "tools" in template.names
        listed = "" if takes_tools else f"[{','.join([offered.text for offered in tools])}]\n"
        role, text = turns[-1]
        turns = (*turns[:-1], (role, f"{text}\n---\n{listed}{tool_prompt or _TOOL_PROMPT}"))
    own = None if template is None else _render_own(template, turns, tools, deployment)
    rendered = _render_known(turns, deployment, tokenizer) if own is None else own
    return _continue_last(rendered, turns[-1][1]) if turns and turns[-1][0] == "assistant" else rendered


def _render_own(
    template: ChatTemplate, turns: Sequence[Turn], tools: Sequence[OfferedTool], deployment: Deployment
) -> str | None:
    """Render the template of a vocabulary; ``None`` if it refuses and the trait ``alternates`` is off."""
    messages: list[JSON] = [{"role": role, "content": text} for role, text in turns]
    listed: list[JSON] = [parse_json(offered.text) for offered in tools]
    try:
        return template({"messages": messages, "tools": listed or None, "add_generation_prompt": True})
    except ChatTemplateError as error:
        if deployment.traits.get("alternates") is False:
            return None
        raise _refusal(str(error), error.line) from None


def _render_known(turns: Sequence[Turn], deployment: Deployment, tokenizer: Tokenizer) -> str:
    begin = "" if tokenizer.bos is None else special_text(tokenizer, tokenizer.bos)
    if not alternates(deployment):
        return begin + "".join([f"<|{role}|>\n{text}\n" for role, text in turns]) + "<|assistant|>\n"
    _validate_roles(turns)
    end = special_text(tokenizer, tokenizer.eos)
    return begin + "".join([f"[INST] {text} [/INST]" if role == "user" else text + end for role, text in turns])


def count_message(text: str, deployment: Deployment, service: TgiService) -> tuple[int, int, str] | None:
    """Return tokens, characters and locale of a conversation of one message of a user, in a fraction of the time.

    ``None`` if the template is not that of the default model, or the text may contain special tokens.
    """
    tokenizer = service.tokenizer(deployment)
    if "<" in text or tokenizer.render is not None or tokenizer.bos is None or not alternates(deployment):
        return None
    part = f"[INST] {text} [/INST]"
    count, language = service.count_parts((part,), text, 0, deployment)
    return count + 1, len(part) + len(special_text(tokenizer, tokenizer.bos)), language


def _continue_last(text: str, content: str) -> str:
    """Cut the prompt behind the last message, which is the assistant's and the model continues."""
    found = text.rfind(content)
    return text[: found + len(content)].rstrip() if found >= 0 else text


def split_prompt(text: str, tokenizer: Tokenizer, *, framed: bool = True) -> Iterator[tuple[int | None, str]]:
    """Yield the parts of a prompt: special tokens with their ids, anywhere, and the texts between.

    Args:
        framed: the prompt is a conversation. A turn of the emulator's own template is a part of its own then, so that
            the counts of earlier turns are remembered.
    """
    ids = [token for token in (tokenizer.bos, tokenizer.eos) if token is not None]
    specials = {special_text(tokenizer, token): token for token in ids}
    find = _compile_specials(*specials, framed=framed)
    for part in find.split(text):
        if part:
            yield specials.get(part), part


@lru(64)
def _compile_specials(*specials: str, framed: bool) -> re.Pattern[str]:
    turn = f"|(?={re.escape(_TURN)})" if framed else ""
    return re.compile(f"({'|'.join(map(re.escape, specials))}){turn}")


def count_chat(text: str, last: str, media: int, deployment: Deployment, service: TgiService) -> tuple[int, str]:
    """Return the tokens of a rendered conversation, and the locale of its last message.

    Args:
        last: text of the last message if it is a user's and all are texts, else empty.
    """
    parts, specials = _list_parts(text, service.tokenizer(deployment))
    if not parts or len(parts[-1]) > len(last) + _MAX_FRAME or last not in parts[-1]:
        last = ""  # the part has more than the message, or begins the answer
    count, language = service.count_parts(parts, last, media, deployment)
    return specials + count, language


def _list_parts(text: str, tokenizer: Tokenizer) -> tuple[list[str], int]:
    """Return the texts of :func:`split_prompt`, and the number of special tokens, in a tenth of its time."""
    parts = text.split(special_text(tokenizer, tokenizer.eos))
    if tokenizer.bos is not None:
        begin = special_text(tokenizer, tokenizer.bos)
        parts = [inner for part in parts for inner in part.split(begin)]
    specials = len(parts) - 1
    if _TURN in text:
        parts = [turn for part in parts for turn in _list_turns(part)]
    return [part for part in parts if part], specials


def _list_turns(part: str) -> list[str]:
    first, *others = part.split(_TURN)
    return [first, *[_TURN + other for other in others]]
