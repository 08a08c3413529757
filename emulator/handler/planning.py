"""Deciding the answer to a call: match, generate, pace. Sends nothing and waits for nothing."""

from collections.abc import Iterable
from dataclasses import replace

from emulator.core.clock import Clock
from emulator.core.cost_limits import is_slow, is_unbounded
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.executor import run_in_thread
from emulator.core.http import Request
from emulator.core.json import JSON, dump_text
from emulator.core.plan import Plan
from emulator.core.requests import ChatRequest
from emulator.core.rng import derive_key, prepare_key
from emulator.core.storage import ATTEMPTS, LocalState, State
from emulator.core.vendor import InferenceCall, Parsed
from emulator.generation.budget import TooLong, Unsatisfiable, quick
from emulator.generation.generate import Content, ContentCache, generate
from emulator.generation.segments import FixedReply
from emulator.generation.tokenizer import tokenizer_for
from emulator.latency import Latency
from emulator.ratelimit import AdmissionController, Ticket
from emulator.ratelimit.concurrency import ServerKey, Slot
from emulator.scenario.credentials import list_credentials
from emulator.scenario.limits import compile_limits, list_quotas
from emulator.scenario.matching import Match, RequestAttributes, RuleMatcher, RuleResult, compile_rules
from emulator.scenario.models import ReplyOutcome, Scenario

UNMATCHED = Match()
LONG_PROMPT = 65_536
"""Tokens; to look at more takes some milliseconds."""


class Emulator:
    """One scenario at work: what all vendors share while they answer.

    ``has_no_rules``: no call has a rule to meet, or anything to wait for but its own latency; ``immediate``: not even that.
    ``defers_key``: nothing asks for the attempt of a call before it is charged, and the state is far: one question
    finds out both.
    ``name_answer``: gives the key of an answer, from the request's identity and attempt.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        clock: Clock,
        state: State,
        seed: int,
        latency: Latency,
        started: float | None = None,
    ) -> None:
        self.clock = clock
        self.state = state
        self.seed = seed
        self.name_answer = prepare_key(seed, "answer", ..., ...)
        self.started = clock.now() if started is None else started
        self._drafts = ContentCache()
        self._latency = latency
        self.immediate = latency.immediate
        self.rules = scenario.rules
        self.tokens = list_credentials(scenario)
        self.journal = scenario.journal
        self.bounds = scenario.bounds
        self.strict = scenario.strict
        self.quotas = list_quotas(scenario.limits)
        self._gate = AdmissionController(compile_limits(scenario.limits), state)
        self._bounded = is_bounded(scenario, latency)
        ruled = bool(scenario.rules or scenario.strict)
        self.has_no_rules = not (ruled or self._bounded)
        self.defers_key = self._bounded and not ruled and not isinstance(state, LocalState)
        self._matcher: RuleMatcher = compile_rules(scenario)
        self.reads_secrets = self._matcher.reads_secrets

    async def name(self, request: Request, identity: bytes) -> None:
        """Count a request's attempts, and give it the key of its answer.

        Raises:
            DocumentsError: it was read without documents, and there are some.
        """
        try:
            request.attempt = await self.state.count(request.session, ATTEMPTS, identity, request.unread_collection)
        finally:  # a request that is refused for want of the store has a name all the same
            request.key = self.name_answer(identity, request.attempt)

    async def match(
        self, vendor: str, wire: Request, parsed: Parsed, identity: bytes, attempt: int, now: float
    ) -> Match:
        """Which rule takes a request admitted at ``now``, and with what outcome; asked where there are rules."""
        facts = read_facts(vendor, wire, parsed, identity, attempt, now - self.started)
        return await self._matcher.match(facts, self.state)

    @property
    def busy(self) -> Iterable[tuple[ServerKey, int, int]]:
        """Servers that have only so many slots: how many calls run on each, and how many wait."""
        return self._gate.busy

    def gate_for(self, call: InferenceCall) -> AdmissionController | None:
        """What may hold a call back, if anything may."""
        return self._gate if self._bounded or call.quotas else None

    def explain(self, facts: RequestAttributes, match: Match) -> tuple[RuleResult, ...]:
        """What each rule said to a request, up to the one that took it; counts nothing."""
        return tuple(map(self.tokens.cut_verdict, self._matcher.explain(facts, match)))

    async def admit(
        self,
        call: InferenceCall,
        match: Match,
        request: Request,
        identity: bytes,
        now: float,
        gate: AdmissionController,
    ) -> tuple[Plan, Ticket]:
        """The answer to a call, decided once its quotas are charged and there is a slot for it; it is named then.

        Raises:
            EmulatedError: as :meth:`decide`; or a quota has not enough, or the server is full. It costs nothing then.
            DocumentsError: as :meth:`name`.
        """
        latency, at = self._latency_of(match), self.clock.now() - self.started
        if request.has_key:
            admission = await gate.reserve(call, request, at)
        else:
            try:
                admission = await gate.reserve(call, request, at, identity)
                request.attempt = admission.attempt
            finally:
                request.key = self.name_answer(identity, request.attempt)
        await gate.acquire(admission, call, at, latency.load)
        try:
            plan = await self.plan(call, match, request.key, now, admission.slot)
            await gate.set_expected_end(admission, now - self.started + plan.due)
        except BaseException:
            await gate.release(admission, None, self.clock.now() - self.started)
            raise
        return replace(plan, quota=admission.balances), admission

    async def release(self, admission: Ticket, output_tokens: int | None, now: float) -> None:
        """A call that was let in is over, with so many tokens sent; ``None``: it was refused after all."""
        await self._gate.release(admission, output_tokens, now - self.started)

    def _latency_of(self, match: Match) -> Latency:
        return self._latency if match.outcome.latency is None else self._latency.merge(match.outcome.latency)

    async def plan(
        self,
        call: InferenceCall,
        match: Match,
        key: bytes,
        now: float,
        slot: Slot | None = None,
        repeated: bytes | None = None,
    ) -> Plan:
        """As :meth:`decide`, beside the event loop if it takes long."""
        reply = match.outcome.reply
        vector = 0 if reply is None else len(reply.embedding or ())
        self.bounds.check_vectors(call.request, vector)
        long = is_slow(call.request, call.deployment, vector) or (reply is not None and reply.is_long)
        if sum(call.prompt_tokens) <= LONG_PROMPT and not long:
            if not is_unbounded(call.request):
                return self.decide(call, match, key, now, slot, repeated)
            try:
                with quick():
                    return self.decide(call, match, key, now, slot, repeated)
            except TooLong:
                pass
        return await run_in_thread(self.decide, call, match, key, now, slot)

    def decide(
        self,
        call: InferenceCall,
        match: Match,
        key: bytes,
        now: float,
        slot: Slot | None = None,
        repeated: bytes | None = None,
    ) -> Plan:
        """The answer to a call.

        Args:
            key: names the answer.
            now: when the call came.
            slot: where it runs, if slots are few.
            repeated: identity of a call that came before, and whose draft is worth keeping.

        Raises:
            EmulatedError: a rule refuses the call, or nothing satisfies the schema it asks for.
        """
        outcome = match.outcome
        if outcome.error is not None:
            raise outcome.error.to_error()
        reply = None if outcome.reply is None else fix_reply(outcome.reply)
        draft = self._write(call, reply) if reply or repeated is None else self._recall(call, repeated)
        waited = call.delay + (0.0 if slot is None else max(0.0, slot.since - (now - self.started)))
        if not waited and (self.immediate if outcome.latency is None else self._latency_of(match).immediate):
            return Plan(key, now, draft.choices, draft.vectors, draft.prompts, draft.usage)
        return pace(draft, self._latency_of(match), key, now, 1 if slot is None else slot.running, waited)

    def _recall(self, call: InferenceCall, identity: bytes) -> Content:
        """The draft of a call that came before."""
        draft = self._drafts.find(identity)
        if draft is None:
            draft = self._write(call, None)
            self._drafts.keep(identity, draft)
        return draft

    def _write(self, call: InferenceCall, reply: FixedReply | None) -> Content:
        deployment = call.deployment
        try:
            return generate(
                call.request, deployment, tokenizer_for(deployment.tokenizer), self.seed, call.prompt_tokens, reply
            )
        except Unsatisfiable as error:
            plain = isinstance(call.request, ChatRequest) and call.request.format == "text"
            param = "tools" if plain else "response_format"
            text = f"No JSON satisfies the schema: {error}"
            raise EmulatedError(ErrorKind.INVALID_PARAMETER, text, param=param) from None


def read_facts(
    vendor: str, wire: Request, parsed: Parsed, identity: bytes, attempt: int, since_start: float
) -> RequestAttributes:
    """A request as the rules see it; a catalogue or health route has no ask."""
    call = parsed if isinstance(parsed, InferenceCall) else None
    return RequestAttributes(
        vendor=vendor,
        endpoint=wire.path,
        deployment=call.deployment.name if call else "",
        task=call.deployment.task if call else "",
        principal=wire.principal,
        session=wire.session,
        stream=call is not None and call.stream,
        ask=call.request if call else None,
        prompt_tokens=sum(call.prompt_tokens) if call else 0,
        body_bytes=len(wire.body),
        headers=wire.headers,
        query=wire.query,
        body=wire.json,
        fingerprint=identity,
        attempt=attempt,
        since_start=since_start,
    )


def fix_reply(reply: ReplyOutcome) -> FixedReply:
    """A scenario's reply in the engine's words."""
    text = dump_text(reply.json_) if reply.has_json else reply.text
    return FixedReply(
        text=text,
        pieces=tuple(reply.chunks or ()),
        refusal=reply.refusal,
        reasoning=reply.reasoning,
        tool_calls=tuple((call.name, _arguments(call.arguments), call.id or "") for call in reply.tool_calls or ()),
        embedding=None if reply.embedding is None else tuple(reply.embedding),
        finish_reason=reply.finish_reason,
        usage={} if reply.usage is None else reply.usage.model_dump(exclude_none=True),
        mode=reply.generate,
    )


def _arguments(value: JSON) -> str:
    return value if isinstance(value, str) else dump_text(value)


def is_bounded(scenario: Scenario, latency: Latency) -> bool:
    """Some call may have to wait for others, or be refused for their sake."""
    steps = [step for rule in scenario.rules for step in (rule, *(rule.sequence or ()))]
    return bool(scenario.limits or latency.load or any(step.latency and step.latency.load for step in steps))


def pace(draft: Content, latency: Latency, key: bytes, now: float, running: int = 1, waited: float = 0.0) -> Plan:
    """Say when each token of a draft is due, for a call that waited before it ran beside others."""
    prompt_tokens = draft.usage.prompt_tokens
    choices = []
    due = 0.0
    for number, choice in enumerate(draft.choices):
        times = latency.pace(choice.count, prompt_tokens, derive_key(key, "latency", number), running)
        if waited:
            times = tuple([time + waited for time in times])
        choices.append(replace(choice, due=times))
        due = max(due, times[-1] if len(times) else 0.0)
    if not choices:
        times = latency.pace(1, prompt_tokens, derive_key(key, "latency", 0), running)
        due = times[-1] + waited
    return Plan(
        key=key,
        created=now,
        choices=tuple(choices),
        vectors=draft.vectors,
        prompts=draft.prompts,
        usage=draft.usage,
        due=due,
    )
