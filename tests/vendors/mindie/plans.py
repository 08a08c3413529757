"""Plans for calls of the direct tests: the engine's own draft of a fixed text, paced by hand."""

from array import array
from dataclasses import replace

from emulator.core.plan import Plan
from emulator.core.vendor import Call
from emulator.engine.parts import FixedReply
from emulator.engine.tokenizer import tokenizer_for
from emulator.engine.write import write

KEY = b"0123456789abcdef"


def plan_for(call: Call, text: str) -> Plan:
    """What the call would be answered if the model said ``text``; one token every tenth of a second."""
    draft = write(
        call.ask,
        call.deployment,
        tokenizer_for(call.deployment.tokenizer),
        seed=0,
        prompt_tokens=call.prompt_tokens,
        reply=FixedReply(text=text),
    )
    choices = tuple(replace(c, due=array("d", [0.1 * (i + 1) for i in range(len(c.tokens))])) for c in draft.choices)
    due = max((choice.due[-1] for choice in choices if choice.tokens), default=0.0)
    return Plan(key=KEY, created=0.0, choices=choices, usage=draft.usage, due=due)
