"""Find personal data, unsafe texts and unwanted topics as the AI gateway's guardrails do, and build their errors.

Sources: databricks-sdk (``AiGatewayGuardrails``), an inference-table row of August 2026 for the finding of an input,
and public notes on the gateway. The detection of unsafe texts and topics is a heuristic.
"""

import re
from collections.abc import Mapping, Sequence

from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.json import JSON, Object, dump_text
from emulator.core.requests import Message

_PERSONAL: Mapping[str, re.Pattern[str]] = {
    "EMAIL_ADDRESS": re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"),
    "CREDIT_CARD": re.compile(r"\b(?:\d{4}[ -]?){3}\d{4}\b"),
    "US_SSN": re.compile(r"\b\d{3}-\d{2}-\d{4}\b"),
    "IP_ADDRESS": re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b"),
    "PHONE_NUMBER": re.compile(r"(?<!\w)\+?\d{1,3}?[ .-]?\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b"),
}
_UNSAFE: Mapping[str, re.Pattern[str]] = {
    "violence": re.compile(r"\b(?:kill|murder|bomb|massacre)", re.IGNORECASE),
    "self_harm": re.compile(r"\b(?:suicide|self[- ]harm)", re.IGNORECASE),
    "hate": re.compile(r"\b(?:racial slur|ethnic cleansing)", re.IGNORECASE),
}


@fast_dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """Guardrails of one side, input or output.

    Fields:
        keywords: forbidden words. topics: at least one must occur, if there are any.
        personal: ``BLOCK``, ``MASK`` or ``NONE``, for texts with personal data.
        safety: unsafe texts are rejected.
    """

    keywords: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    personal: str = "NONE"
    safety: bool = False

    def find(self, texts: Sequence[str]) -> Object | None:
        """Return the finding for texts that are rejected; ``None`` if they pass."""
        whole = "\n".join(texts)
        lower = whole.lower()
        categories: Object = {name: True for name, pattern in _UNSAFE.items() if self.safety and pattern.search(whole)}
        keyword = next((word for word in self.keywords if word.lower() in lower), None)
        off_topic = bool(self.topics) and not any(_has_topic(topic, lower) for topic in self.topics)
        personal = self.personal == "BLOCK" and mask(whole) != whole
        if not (categories or keyword or off_topic or personal):
            return None
        finding: Object = {
            "flagged": bool(categories or keyword or off_topic),
            "categories": categories or None,
            "category_scores": {name: 0.99 for name in categories} or None,
            "pii_detection": personal,
        }
        if keyword:
            finding["invalid_keywords"] = True
        if off_topic:
            finding["off_topic"] = True
        return finding


def parse_guard(given: JSON) -> Guard:
    """Parse one side's guardrails; invalid members are ignored."""
    if not isinstance(given, dict):
        return Guard()
    personal = given.get("pii")
    return Guard(
        keywords=_parse_texts(given.get("invalid_keywords")),
        topics=_parse_texts(given.get("valid_topics")),
        personal=str(personal.get("behavior", "NONE")) if isinstance(personal, dict) else "NONE",
        safety=given.get("safety") is True,
    )


def mask(text: str) -> str:
    """Replace each piece of personal data by a placeholder."""
    for name, pattern in _PERSONAL.items():
        text = pattern.sub(f"<{name}>", text)
    return text


def validate_input(guard: Guard, messages: Sequence[Message]) -> None:
    """Raise for a conversation with a finding.

    Raises:
        EmulatedError: with the finding as JSON in the message.
    """
    finding = guard.find([message.text for message in messages if message.role == "user"])
    if finding is None:
        return
    if finding["pii_detection"]:
        finding["anonymized_input"] = [{"role": m.role, "content": mask(m.text)} for m in messages]
    raise error_guardrail("input", finding, 0)


def error_guardrail(side: str, finding: Object, prompt_tokens: int) -> EmulatedError:
    """Return a guardrail's error (400) with JSON as its message."""
    body: Object = {
        "usage": {"prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens},
        f"{side}_guardrail": [finding],
        "finishReason": f"{side}_guardrail_triggered",
    }
    return EmulatedError(ErrorKind.CONTENT_FILTER, dump_text(body))


def _parse_texts(given: JSON) -> tuple[str, ...]:
    return tuple(text for text in given if isinstance(text, str) and text) if isinstance(given, list) else ()


def _has_topic(topic: str, lower: str) -> bool:
    """Return whether a word of the topic, or its singular, occurs."""
    words = [word[:-1] if word.endswith("s") else word for word in re.findall(r"\w{3,}", topic.lower())]
    return any(word in lower for word in words or [topic.lower()])
