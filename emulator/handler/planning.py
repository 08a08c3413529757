"""Plan the response to a call: match rules, admit the call, generate content, schedule the tokens.

``Emulator`` holds what these steps need of one active scenario; the handlers of all its vendors share it.
"""

from collections.abc import Awaitable, Hashable, Iterable
from dataclasses import replace

from emulator.core.calls import InferenceCall
from emulator.core.clock import Clock
from emulator.core.cost_limits import is_cheap, is_slow, is_unbounded
from emulator.core.errors import EmulatedError, ErrorKind
from emulator.core.http import Headers, Request
from emulator.core.json import JSON, dump_text
from emulator.core.plan import Plan
from emulator.core.quota import Left
from emulator.core.requests import ChatRequest, Deployment
from emulator.core.rng import derive_key, prepare_key
from emulator.core.storage import ATTEMPTS, LocalState, State
from emulator.faults import find_breakage
from emulator.generation.generate import Content, ContentCache, generate
from emulator.generation.segments import GENERATED, FixedReply
from emulator.generation.step_budget import TooLong, Unsatisfiable, quick
from emulator.generation.tokenizer import tokenizer_for
from emulator.handler.budget import open_budget
from emulator.latency import Latency
from emulator.ratelimit import AdmissionController, Recovery, Ticket
from emulator.ratelimit.concurrency import ServerKey
from emulator.scenario.credentials import list_credentials
from emulator.scenario.limits import compile_limits, list_quotas, name_principals
from emulator.scenario.matching import Match, RequestAttributes, RuleMatcher, RuleResult, compile_rules
from emulator.scenario.models import Scenario
from emulator.scenario.outage_effects import Retirements, SlowRecoveries
from emulator.scenario.outcomes import ReplyOutcome

LONG_PROMPT = 65_536
"""Maximum prompt, in tokens, that is planned on the event loop; more takes milliseconds."""


class Emulator:
    """What the request handlers of all vendors share of one active scenario: its rules, quotas, generator and latency.

    ``immediate``: calls have no latency either.
    ``is_bounded``: quotas or slots of the scenario may delay or refuse calls.
    ``defers_key``: the store is remote and no rule needs the attempt before the quotas are charged, so one store
    command counts the attempt and charges the quotas.
    ``derive_answer_key``: returns the response key for a fingerprint and an attempt.
    ``principals``: names of the principals that a quota is restricted to, by its name.
    ``retires``: an outage of the scenario retires deployments.
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
        scenario = scenario.with_outages()
        self.clock, self.state = clock, state
        self._local = state if isinstance(state, LocalState) else None
        self.seed = seed
        self.derive_answer_key = prepare_key(seed, "answer", ..., ...)
        self.started = clock.now() if started is None else started
        self._contents = ContentCache()
        self._latency = latency
        self.immediate = latency.immediate
        self.rules = scenario.rules
        self.tokens = list_credentials(scenario)
        self.journal = scenario.journal
        self.bounds = scenario.bounds
        self.strict, self.unmatched = scenario.strict, scenario.miss_policy
        self.replay = scenario.replay
        self.seeks_elsewhere = scenario.replay is not None or self.unmatched in ("forward", "record")
        self.quotas = list_quotas(scenario.limits)
        self.principals = name_principals(scenario.limits)
        self._retirements = Retirements(scenario.outages, self.started)
        self.retires = bool(self._retirements)
        self._recoveries = SlowRecoveries(scenario.outages, self.started)
        find_recovery = self._find_recovery if self._recoveries else None
        self._admission = AdmissionController(compile_limits(scenario.limits), state, find_recovery)
        self._has_slots = has_slots(scenario, latency)
        self.is_bounded = self._has_slots or bool(scenario.limits or self._recoveries)
        self.budget = open_budget(scenario, state)
        self.defers_key = self.is_bounded and self._local is None and not _is_ruled(scenario)
        self._matcher: RuleMatcher = compile_rules(scenario, by_hash=self._local is None)
        self.reads_secrets = self._matcher.reads_secrets
        self.max_searched = self._matcher.max_searched

    def assign_key_now(self, request: Request, fingerprint: bytes) -> bool:
        """Do :meth:`assign_key` without waiting; return false if the store is remote."""
        state = self._local
        if state is None:
            return False
        request.attempt = attempt = state.count_now(request.session, ATTEMPTS, fingerprint)
        request.key = self.derive_answer_key(fingerprint, attempt)
        return True

    async def assign_key(self, request: Request, fingerprint: bytes) -> None:
        """Count a request's attempts and assign its response key.

        Raises:
            DocumentsError: the request was parsed without documents, and the session has some.
        """
        try:
            request.attempt = await self.state.count(request.session, ATTEMPTS, fingerprint, request.unread_collection)
        finally:  # a request refused because the store is unreachable has a key, too
            request.key = self.derive_answer_key(fingerprint, request.attempt)

    def match(self, attributes: RequestAttributes) -> Match | Awaitable[Match]:
        """Return the rule that matches a request, with its outcome; count the request for rules with counters."""
        return self._matcher.match(attributes, self.state.count if self._local is None else self._local.count_now)

    def forget(self, session: str) -> None:
        """Forget what rules have counted for a session that has ended."""
        self._matcher.forget(session)

    @property
    def busy(self) -> Iterable[tuple[ServerKey, int, int]]:
        """Return the servers with limited slots, each with its number of running and waiting calls."""
        return self._admission.busy

    def _find_recovery(self, vendor: str, deployment: str, principal: str, now: float) -> Recovery | None:
        """Return the state of a call's quotas after an outage; ``None``: all is back."""
        found = self._recoveries.find(vendor, deployment, principal, now)
        return None if found is None else Recovery(*found)

    def list_warnings(self, deployment: Deployment, now: float) -> Headers:
        """Return the headers that announce a deployment's retirement; ``now``: Unix seconds."""
        return self._retirements.list_warnings(deployment.vendor, deployment.name, now - self.started, self.started)

    def explain(self, attributes: RequestAttributes, match: Match) -> tuple[RuleResult, ...]:
        """Return the result of each rule up to the one that matched; counts nothing."""
        return tuple(map(self.tokens.redact_result, self._matcher.explain(attributes, match)))

    def admit_now(self, call: InferenceCall, request: Request) -> Ticket | None:
        """Do :meth:`admit` without waiting; return ``None``, with nothing charged, if that takes :meth:`admit`."""
        return None if self._has_slots else self._admission.reserve_now(call, request, self.clock.now() - self.started)

    async def admit(self, call: InferenceCall, match: Match, request: Request, fingerprint: bytes) -> Ticket:
        """Charge the quotas of a call, assign its key, and wait for its slot.

        Raises:
            EmulatedError: a quota is exhausted or the server is full. Nothing is charged then.
            DocumentsError: as :meth:`assign_key`.
        """
        latency, since_start = self._latency_of(match), self.clock.now() - self.started
        if request.has_key:
            admission = await self._admission.reserve(call, request, since_start)
        else:
            try:
                admission = await self._admission.reserve(call, request, since_start, fingerprint)
            finally:
                request.key = self.derive_answer_key(fingerprint, request.attempt)
        if latency.load is not None:
            await self._admission.acquire(admission, call, since_start, latency.load)
        return admission

    def set_expected_end(self, admission: Ticket, end: float) -> Awaitable[None]:
        """Set when a call that takes a place is expected to end, Unix seconds."""
        return self._admission.set_expected_end(admission, end - self.started)

    def release(self, admission: Ticket, output_tokens: int | None, now: float) -> Awaitable[None]:
        """Release an admitted call with the output tokens sent; ``None``: the call was refused after its admission."""
        return self._admission.release(admission, output_tokens, now - self.started)

    def _latency_of(self, match: Match) -> Latency:
        return self._latency if match.outcome.latency is None else self._latency.merge(match.outcome.latency)

    def decide_now(
        self,
        call: InferenceCall,
        match: Match,
        key: bytes,
        now: float,
        admission: Ticket | None = None,
        repeated: Hashable = None,
    ) -> Plan | None:
        """Do :meth:`decide`, or return ``None`` if planning takes long and belongs in the worker thread."""
        reply, is_short = match.outcome.reply, sum(call.prompt_tokens) <= LONG_PROMPT
        if reply is None and is_short and is_cheap(call.request, self.bounds.messages):
            return self.decide(call, match, key, now, admission, repeated)
        vector = 0 if reply is None else reply.vector_length
        self.bounds.check_vectors(call.request, vector)
        long = is_slow(call.request, call.deployment, vector) or (reply is not None and reply.is_long)
        if is_short and not long:
            if not is_unbounded(call.request):
                return self.decide(call, match, key, now, admission, repeated)
            try:
                with quick():
                    return self.decide(call, match, key, now, admission, repeated)
            except TooLong:
                pass
        return None

    def decide(
        self,
        call: InferenceCall,
        match: Match,
        key: bytes,
        now: float,
        admission: Ticket | None = None,
        repeated: Hashable = None,
    ) -> Plan:
        """Return the plan of a call.

        Args:
            key: response key of the call.
            now: when the call was admitted, Unix seconds.
            admission: slot and balances of the call, if slots or quotas limit it.
            repeated: key of a repeated request, to cache its content; ``None``: it is not cached.

        Raises:
            EmulatedError: a rule refuses the call, or no JSON satisfies the requested schema.
        """
        outcome = match.outcome
        if outcome.error is not None:
            raise outcome.error.to_error()
        reply = None if outcome.reply is None else fix_reply(outcome.reply)
        broken = find_breakage(outcome.faults) if outcome.faults else None
        if broken is not None:
            reply = replace(reply or GENERATED, broken=broken)
        content = self._generate(call, reply) if reply or repeated is None else self._find_content(call, repeated)
        slot, quota = (None, ()) if admission is None else (admission.slot, admission.left)
        waited = call.delay + (0.0 if slot is None else max(0.0, slot.since - (now - self.started)))
        if not waited and (self.immediate if outcome.latency is None else self._latency_of(match).immediate):
            return Plan(key, now, content.choices, content.vectors, content.prompts, content.usage, 0.0, quota)
        running = 1 if slot is None else slot.running
        return pace(content, self._latency_of(match), key, now, running, waited, quota)

    def _find_content(self, call: InferenceCall, repeated: Hashable) -> Content:
        """Return the cached content of a repeated call; generate it the first time."""
        content = self._contents.find(repeated)
        if content is None:
            content = self._generate(call, None)
            self._contents.keep(repeated, content)
        return content

    def _generate(self, call: InferenceCall, reply: FixedReply | None) -> Content:
        deployment = call.deployment
        try:
            return generate(
                call.request, deployment, tokenizer_for(deployment.tokenizer), self.seed, call.prompt_tokens, reply
            )
        except Unsatisfiable as error:
            is_text = isinstance(call.request, ChatRequest) and call.request.format == "text"
            param = "tools" if is_text else "response_format"
            text = f"No JSON satisfies the schema: {error}"
            raise EmulatedError(ErrorKind.INVALID_PARAMETER, text, param=param) from None


def fix_reply(reply: ReplyOutcome) -> FixedReply:
    """Convert a scenario's reply into the generator's model."""
    text = dump_text(reply.json_) if reply.has_json else reply.text
    return FixedReply(
        text=text,
        pieces=tuple(reply.chunks or ()),
        refusal=reply.refusal,
        reasoning=reply.reasoning,
        tool_calls=tuple(
            (call.name, _format_arguments(call.arguments), call.id or "") for call in reply.tool_calls or ()
        ),
        embedding=None if reply.embedding is None else tuple(reply.embedding),
        embeddings=tuple([(entry.test, entry.vector) for entry in reply.embeddings or ()]),
        pad=reply.pad,
        finish_reason=reply.finish_reason,
        usage={} if reply.usage is None else reply.usage.model_dump(exclude_none=True),
        mode=reply.generate,
    )


def _format_arguments(value: JSON) -> str:
    return value if isinstance(value, str) else dump_text(value)


def _is_ruled(scenario: Scenario) -> bool:
    """Return whether anything but the quotas decides the response to a call."""
    return bool(scenario.rules or scenario.miss_policy != "answer" or scenario.replay)


def has_slots(scenario: Scenario, latency: Latency) -> bool:
    """Return whether calls may wait for the end of others."""
    steps = [step for rule in scenario.rules for step in (rule, *(rule.sequence or ()))]
    return bool(latency.load or any(step.latency and step.latency.load for step in steps))


def pace(
    content: Content,
    latency: Latency,
    key: bytes,
    now: float,
    running: int = 1,
    waited: float = 0.0,
    quota: Left = (),
) -> Plan:
    """Return the plan with the due time of each token.

    Args:
        running: calls that run on the same server.
        waited: seconds before the call began to run.
    """
    prompt_tokens = content.usage.prompt_tokens
    choices = []
    due = 0.0
    for number, choice in enumerate(content.choices):
        times = latency.pace(choice.count, prompt_tokens, derive_key(key, "latency", number), running)
        if waited:
            times = tuple([time + waited for time in times])
        choices.append(choice.schedule(times))
        due = max(due, times[-1] if len(times) else 0.0)
    if not choices:
        times = latency.pace(1, prompt_tokens, derive_key(key, "latency", 0), running)
        due = times[-1] + waited
    return Plan(
        key=key,
        created=now,
        choices=tuple(choices),
        vectors=content.vectors,
        prompts=content.prompts,
        usage=content.usage,
        due=due,
        quota=quota,
    )
