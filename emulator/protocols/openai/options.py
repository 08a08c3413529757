"""Remember the parsed options of chats, so that a vendor validates equal ones once.

Options are all members of the body except ``messages`` and a plain ``user``, which identifies the client's own user and
changes no answer. Messages that are plain texts are valid for every vendor. Any other request passes the vendor's
validation, in the vendor's order of errors.
"""

import re
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import fields
from operator import attrgetter

from pydantic_core import to_json

from emulator.core.calls import InferenceCall
from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.errors import EmulatedError
from emulator.core.http import Request
from emulator.core.json import JSON, Object
from emulator.core.requests import ChatRequest, Message, Sampling
from emulator.core.vendor import AnyService, H, OptionsKey, ParsedOptions, S, Service

Limit = Callable[[int], int | None]
Context = tuple[Hashable, ...]
Texts = tuple[Message, ...]

_MAX_LIMITS = 16  # of the same options
_MAX_SIZE = 2048  # bytes of JSON of options that are remembered
_MESSAGES = {"messages"}
_MESSAGES_AND_USER = {"messages", "user"}
_SPACED = re.compile(rb'"[ \t\r\n]+:')
_list_form = attrgetter(*[field.name for field in fields(ChatRequest)][4:])
_list_rest = attrgetter(*[field.name for field in fields(Sampling) if field.name != "max_tokens"])


class RememberedOptions:
    """Options of a valid chat, which hold for any plain messages.

    Args:
        call: the call of that chat.
        limit: returns the maximum tokens of an answer to a prompt of a number of tokens, or raises that it is too long.
        overhead: tokens of each prompt besides its conversation.

    ``form``: arguments of the chat request after messages, sampling and language.
    """

    __slots__ = ("_limit", "_overhead", "call", "form", "samplings", "tools")

    def __init__(self, call: InferenceCall, limit: Limit = lambda count: None, overhead: int = 0) -> None:
        chat = call.request
        assert isinstance(chat, ChatRequest)
        self.form = (_is_prose(chat), *_list_form(chat))
        self.samplings = Samplings(chat.sampling)
        self.tools = chat.tools
        self._limit = limit
        self._overhead = overhead
        self.call = (call.deployment, call.codec, call.stream, call.quotas, call.served)

    def build_call(self, messages: Texts, request: Request, service: AnyService) -> InferenceCall:
        deployment, codec, stream, quotas, served = self.call
        count, language = service.count_chat(messages, self.tools, deployment)
        count += self._overhead
        chat = ChatRequest(messages, self.samplings[self._limit(count)], language, *self.form)
        return InferenceCall(deployment, chat, codec, stream, (count,), True, quotas, served, self)


def recall_chat(
    request: Request,
    service: Service[S, H],
    context: Context = (),
    *,
    limit: int = INLINE_BYTES,
    forbidden: bytes = b"",
) -> InferenceCall | None:
    """Return the call of plain messages with remembered options; ``None`` for any other request.

    Args:
        context: header and query values on which options depend.
        limit: maximum bytes of the body.
        forbidden: JSON escape; a body with it, or in which a key may occur twice, is not recalled.
    """
    text = request.body
    if request.documents or len(text) > limit:
        return None
    try:
        body = request.json()
        key = _build_key(request, context, body) if type(body) is dict else None
    except ValueError:
        return None
    options = None if key is None else service.options.get(key)
    if options is None or key is None or type(body) is not dict:
        return None
    messages = parse_texts(body.get("messages"))
    if not messages:
        return None
    if forbidden:
        _, _, has_user, encoded = key
        keys = encoded.count(b'":') + has_user + 1 + 2 * len(messages)
        if forbidden in text or not has_each_key_once(text, keys):
            return None
    try:
        return options.build_call(messages, request, service)
    except EmulatedError:
        return None  # its details are those of the whole validation


def remember_chat(
    request: Request, service: Service[S, H], parse_options: Callable[[], ParsedOptions], context: Context = ()
) -> None:
    """Remember valid options, which depend on service, path, context and these members only.

    Options are remembered when they are seen a second time, as some have a seed of their own. Long ones are not, nor
    those of a request with stored documents, on which they may depend.

    Args:
        parse_options: called if the options are remembered now.
        context: the argument of :func:`recall_chat`.
    """
    if request.documents:
        return
    with suppress(ValueError):  # no JSON but for a lenient vendor, or nested too deeply to encode
        body = request.json()
        key = _build_key(request, context, body) if type(body) is dict else None
        if key is not None and len(key[3]) <= _MAX_SIZE and service.options.get(key) is None:
            service.options.keep(key, parse_options() if key in service.options else None)


def _build_key(request: Request, context: Context, body: Object) -> OptionsKey:
    """Return the cache key of a chat's options.

    Raises:
        ValueError: they are nested too deeply to encode.
    """
    user = body.get("user")
    has_plain_user = type(user) is str and user.isascii()
    encoded = to_json(body, exclude=_MESSAGES_AND_USER if has_plain_user else _MESSAGES)
    return request.path, context, has_plain_user, encoded


def parse_texts(messages: JSON) -> Texts:
    """Return plain messages: an optional system text, then user and assistant texts, a user's last; else ``()``."""
    parsed: list[Message] = []
    role = None
    for message in messages if type(messages) is list else ():
        if type(message) is not dict or len(message) != 2:
            return ()
        role, content = message.get("role"), message.get("content")
        if type(content) is not str or not content:
            return ()
        if role != "user" and role != "assistant" and (role != "system" or parsed):
            return ()
        parsed.append(Message(role, content))
    return tuple(parsed) if role == "user" else ()


def _is_prose(chat: ChatRequest) -> bool:
    """Return whether the answer to plain messages is one text that only its natural end or a token limit ends."""
    sampling = chat.sampling
    is_text = chat.format == "text" and chat.schema is None and chat.reasoning is None and chat.known is None
    is_uncut = not (sampling.stop or sampling.ignore_eos or sampling.prompt_details) and sampling.logprobs is None
    return is_text and is_uncut and sampling.n == 1 and not chat.tools


def is_plain(message: JSON) -> bool:
    """Return whether a message has a role and a text and nothing else."""
    return type(message) is dict and len(message) == 2 and type(message.get("content")) is str and "role" in message


def has_each_key_once(text: bytes, count: int) -> bool:
    """Return whether a JSON text has exactly ``count`` keys; false if in doubt."""
    keys = text.count(b'":')
    return keys == count and (keys == text.count(b":") or _SPACED.search(text) is None)


class Samplings(dict[int | None, Sampling]):
    """Sampling of parsed options by token limit; the latest few limits are remembered."""

    def __init__(self, sampling: Sampling) -> None:
        super().__init__()
        self._rest = _list_rest(sampling)

    def __missing__(self, limit: int | None) -> Sampling:
        if len(self) >= _MAX_LIMITS:
            self.clear()
        sampling = self[limit] = Sampling(limit, *self._rest)
        return sampling
