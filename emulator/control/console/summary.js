// ---------------------------------------------------------------- what happened in a run, in figures

const quantile = (sorted, share) => sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : null;
const isFailed = (call) => call.status === 0 || call.status >= 400;
const isCut = (call) => call.status > 0 && call.status < 400 && !call.whole;
/** Mean gap between tokens as the client saw it. */
const itlOf = (call) => call.stream && call.ttft !== null && call.sent_tokens > 1 ? (call.duration - call.ttft) / (call.sent_tokens - 1) : null;
const fullTime = (unix) => `${new Date(unix * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
const share = (part, whole) => whole ? `${(part / whole * 100).toFixed(part && part < whole / 1000 ? 2 : 1)} %` : "–";

function groupBy(calls, name) {
  const groups = new Map();
  for (const call of calls) { const key = name(call); groups.has(key) ? groups.get(key).push(call) : groups.set(key, [call]); }
  return [...groups].sort(([, one], [, other]) => other.length - one.length);
}
function spread(calls, read) {
  const values = calls.map(read).filter((value) => value !== null && value !== undefined).sort((one, other) => one - other);
  return [.5, .95, .99].map((part) => ms(quantile(values, part))).join(" / ");
}
/** The worst first: without a response, server errors, cut streams, refusals, then the slowest. */
const badness = (call) => (call.status === 0 ? 4 : call.status >= 500 ? 3 : isCut(call) ? 2 : call.status >= 400 ? 1 : 0);
const worst = (calls) => [...calls].sort((one, other) => badness(other) - badness(one) || other.duration - one.duration).slice(0, 10);

/** The account of the calls, asked anew every few seconds at most: it reads the whole journal. */
let usage = { of: null, at: 0, found: null };
async function readUsage() {
  const of = state.session ? `/usage?session=${encodeURIComponent(state.session)}` : "/usage?all=true";
  if (usage.of !== of || Date.now() - usage.at > 5000) usage = { of, at: Date.now(), found: await ask(of).catch(() => null) };
  return usage.found;
}
const dollars = (usd) => `${usd.toFixed(usd && usd < .01 ? 6 : 2)} USD`;

async function showSummary(main) {
  const account = store.calls.length ? await readUsage() : null;
  const calls = store.calls, scenario = await ask(world("/scenario")).catch(() => null), rules = await ask(world("/rules")).catch(() => null);
  const card = (name, value, colour = "") => el("div", { className: "card" }, el("b", { className: colour }, value), name);
  if (!calls.length) { put(main, "summary", el("h2", {}, saved?.title ?? "Summary"), el("p", { className: "quiet" }, saved ? "No call was made." : "Waiting for the first call.")); return; }
  const times = calls.map((call) => call.time), from = Math.min(...times), to = Math.max(...calls.map((call) => call.time + call.duration));
  const failed = calls.filter(isFailed), cut = calls.filter(isCut), retried = calls.filter((call) => isRetry(call));
  const tokens = (some, field) => some.reduce((sum, call) => sum + call[field], 0);
  const facts = [...(scenario ? [["scenario", `${scenario.name}, hash ${scenario.hash}, seed ${scenario.seed}`]] : []), ["from", fullTime(from)], ["to", fullTime(to)], ["duration", ms(to - from)],
    ...(saved ? [["made by", `emulator ${saved.version}`]] : store.older ? [["of", "the calls that this page holds; older ones are in the journal"]] : [])];
  const never = (rules?.rules ?? []).filter((rule) => !rule.hits).map((rule) => rule.name);
  const tests = saved?.tests ?? [];
  put(main, "summary", el("h2", {}, saved?.title ?? "Summary"),
    el("dl", {}, facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    saved?.outcome ? [el("h3", {}, "Outcome"), el("pre", { tabIndex: 0 }, saved.outcome)] : null,
    el("div", { className: "cards", style: "margin-top: 1rem" }, card("calls", count(calls.length)), card("error rate", share(failed.length, calls.length), failed.length ? "warn" : "good"), card("failed", count(failed.length), failed.length ? "warn" : ""),
      card("retried", count(retried.length)), card("cut", count(cut.length), cut.length ? "bad" : ""), card("prompt tokens", count(tokens(calls, "prompt_tokens"))), card("tokens sent", count(tokens(calls, "sent_tokens")))),
    account && [el("h2", {}, "Usage"), table(["#tokens sent", "#delivered", "#wasted", "#refused", "#cut", "#abandoned", "#superseded", "#cost", "#calls a question"], [[account.output_tokens.sent, account.output_tokens.delivered, account.output_tokens.wasted, ...["refused", "cut", "abandoned", "superseded"].map((name) => account.output_tokens.waste[name])].map(count).concat(dollars(account.cost.usd), account.amplification.toFixed(2))], "")],
    tests.length ? [el("h2", {}, "Tests"), table(["test", "outcome", "#calls", "#failed calls"], tests.map((test) => { const mine = calls.filter((call) => call.session === test.session); return [test.name, el("span", { className: test.outcome === "passed" ? "good" : "bad" }, test.outcome), count(mine.length), count(mine.filter(isFailed).length)]; }), "")] : null,
    el("h2", {}, "Times by vendor and deployment, p50 / p95 / p99"),
    table(["vendor", "deployment", "#calls", "#failed", "#TTFT", "#ITL", "#duration"], groupBy(calls.filter((call) => call.vendor), (call) => `${call.vendor}\n${call.deployment ?? "–"}`).map(([key, some]) => [
      ...key.split("\n"), count(some.length), count(some.filter(isFailed).length), spread(some.filter((call) => call.stream), (call) => call.ttft), spread(some, itlOf), spread(some, (call) => call.duration)]), "None."),
    el("h2", {}, "Failures"), table(["what", "by", "#calls", "first"], groupBy(calls.filter((call) => isFailed(call) || isCut(call)), (call) => `${isCut(call) ? `cut: ${call.faults.join(", ") || "client left"}` : call.error ?? call.status}\n${call.principal || "–"}`).map(([key, some]) => [...key.split("\n"), count(some.length), link(some.reduce((one, other) => other.time < one.time ? other : one))]), "No call failed."),
    el("h2", {}, "Tokens by principal"), table(["principal", "#calls", "#prompt", "#sent"], groupBy(calls, (call) => call.principal || "–").map(([name, some]) => [name, count(some.length), count(tokens(some, "prompt_tokens")), count(tokens(some, "sent_tokens"))]), ""),
    rules && [el("h2", {}, "Rules that never matched"), rules.rules.length ? never.length ? el("ul", {}, never.map((name) => el("li", {}, name))) : el("p", { className: "good" }, "None: every rule matched at least once.") : el("p", { className: "quiet" }, "The scenario has no rules.")],
    el("h2", {}, "The ten worst calls"), table(["call", "result", "prompt", "rule", "#duration"], worst(calls).map((call) => [link(call), badges(call, true), call.prompt_line || `${call.method} ${call.path}`, call.rule ?? "–", ms(call.duration)]), ""),
    saved ? [el("h2", {}, calls.length > LISTED ? `The first ${count(LISTED)} of ${count(calls.length)} calls` : "All calls"), table(["call", "time", "prompt", "result", "#tokens", "#duration"], calls.slice(0, LISTED).map((call) => [link(call), fullTime(call.time), call.prompt_line || `${call.method} ${call.path}`, badges(call, true), `${call.prompt_tokens} → ${call.sent_tokens}`, ms(call.duration)]), "")] : null);
}
const LISTED = 500; // calls that a report lists to be printed
const link = (call) => el("a", { href: hashOf(call.id, call.session) }, `#${call.seq}`);
