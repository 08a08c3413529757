// ---------------------------------------------------------------- one call as a conversation

/** Text of a content in any dialect: a string, parts, or an object with one of them. */
function textOf(content) {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textOf).filter(Boolean).join("\n");
  if (typeof content === "object") {
    for (const name of ["text", "content", "parts", "input_text", "output"]) if (content[name] !== undefined) return textOf(content[name]);
    return content.type && /image|audio|file/.test(content.type) ? `[${content.type}]` : JSON.stringify(content);
  }
  return String(content);
}
/** The request as turns: role, text and tool calls. */
function turnsOf(body) {
  if (typeof body === "string") return [{ role: "user", text: shorten(body) }];
  if (body === null || typeof body !== "object") return [];
  const turns = [];
  const system = body.system ?? body.systemInstruction ?? body.system_instruction ?? body.instructions;
  if (system) turns.push({ role: "system", text: textOf(system) });
  const list = body.messages ?? body.contents ?? (Array.isArray(body.input) && body.input.some((item) => item?.role || item?.type) ? body.input : null);
  if (Array.isArray(list))
    for (const item of list) {
      const calls = (item?.tool_calls ?? []).map((tool) => `${tool.function?.name ?? tool.name}(${pretty(tool.function?.arguments ?? tool.arguments ?? "")})`);
      const content = item?.content ?? item?.parts ?? item?.text ?? item?.output ?? (calls.length ? "" : item);
      turns.push({ role: item?.role ?? item?.type ?? "user", text: textOf(content), calls });
    }
  for (const name of ["input", "inputs", "prompt", "text_input", "query"])
    if (!list && body[name] !== undefined) turns.push(...[body[name]].flat().slice(0, 50).map((text) => ({ role: "user", text: textOf(text) })));
  return turns;
}
const ROLES = { system: "system", developer: "system", user: "user", tool: "tool", function: "tool", function_call_output: "tool", assistant: "answer", model: "answer" };

function turn(role, name, ...parts) {
  return el("div", { className: `turn ${role}` }, el("div", { className: "who" }, name), el("div", { className: "said" }, parts));
}
/** What was asked, and what the client got of the answer; of a cut one also what it would have got. */
function conversation(call) {
  const { request, response } = call;
  const turns = request.kept ? turnsOf(request.body) : [];
  const early = turns.length > 12 ? turns.splice(0, turns.length - 8) : [];
  const show = ({ role, text, calls }) => turn(ROLES[role] ?? "user", ROLES[role] ? role : `${role}`, text, (calls ?? []).map((tool) => el("code", {}, tool)));
  return el("div", { className: "talk" },
    request.kept ? null : el("p", { className: "quiet" }, "The content is no longer stored."),
    early.length ? el("details", {}, el("summary", {}, `${early.length} earlier messages`), early.map(show)) : null,
    turns.map(show), answerTurn(call, response));
}
function answerTurn(call, response) {
  const tools = response.tool_calls.map((tool) => el("code", {}, `${tool.name}(${pretty(tool.arguments)})`));
  const cut = !call.whole && call.stream, received = response.received ?? (cut ? response.text : null);
  const failed = call.error || call.status >= 400 || !call.status;
  if (failed && !(cut && received)) {
    const said = response.body === null ? response.raw ?? "" : pretty(response.body);
    return turn("answer bad", call.error ? `refused: ${call.error}` : String(call.status || "no response"), said || "no response", response.planned ? fullAnswer(response.planned) : null);
  }
  if (cut || response.received !== null && response.received !== undefined) {
    const why = call.faults.length ? call.faults.join(", ") : call.client_left ? "client left" : "stopped";
    return turn("answer", "answer, as the client got it", received ?? "", el("mark", {}, `▲ cut: ${why}`), tools, response.planned && response.planned !== received ? fullAnswer(response.planned) : null);
  }
  if (response.text) return turn("answer", "answer", response.text, tools);
  if (tools.length) return turn("answer", "answer", tools);
  if (response.body !== null) return turn("answer", "response", shorten(pretty(response.body)));
  return response.kept ? turn("answer", "response", response.raw ? "bytes changed by a fault, see below" : "no body") : null;
}
const fullAnswer = (text) => el("details", {}, el("summary", {}, "Full answer (not sent)"), el("div", {}, text));
const shorten = (text) => text.length > 2000 ? `${text.slice(0, 2000)}…` : text;

// ---------------------------------------------------------------- when the writes of a stream went out

/** Planned and actual writes over time, with axes; a gap that stands out is shaded and labelled. */
function waterfall(call) {
  const writes = call.response.writes, sent = writes.map(([, at]) => at), width = Math.max(300, ($("detail")?.clientWidth ?? 640) - 34), height = 190;
  const left = 44, right = 12, top = 26, bottom = 34, end = Math.max(...writes.flat(), 1e-6);
  const x = (seconds) => left + seconds / end * (width - left - right), y = (at) => top + (writes.length < 2 ? .5 : at / (writes.length - 1)) * (height - top - bottom);
  const gaps = sent.slice(1).map((at, number) => at - sent[number]), sorted = [...gaps].sort((one, other) => one - other), median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const svg = shape("svg", { class: "flow", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${writes.length} writes over ${ms(end)}; the latest was ${ms(Math.max(...writes.map(([due, at]) => at - due)))} late` });
  const text = (words, at, high, anchor = "middle") => { const node = shape("text", { x: at.toFixed(1), y: high, "text-anchor": anchor }); node.textContent = words; svg.append(node); };
  gaps.forEach((gap, number) => {
    if (gap < Math.max(.05, end * .06, median * 4)) return;
    svg.append(shape("rect", { class: "stall", x: x(sent[number]).toFixed(1), width: Math.max(2, x(sent[number + 1]) - x(sent[number])).toFixed(1), y: top, height: height - top - bottom }));
    text(`stall ${ms(gap)}`, Math.min(width - 40, Math.max(left + 40, (x(sent[number]) + x(sent[number + 1])) / 2)), top - 4);
  });
  for (let tick = 0; tick <= 4; tick++) {
    const at = end * tick / 4;
    svg.append(shape("line", { class: "rule", x1: x(at), x2: x(at), y1: top, y2: height - bottom }));
    text(ms(at), x(at), height - bottom + 14, tick === 4 ? "end" : tick ? "middle" : "start");
  }
  text("time since the request arrived", (left + width - right) / 2, height - 3);
  text("first", left - 6, y(0) + 4, "end");
  if (writes.length > 1) text("last", left - 6, y(writes.length - 1) + 4, "end");
  if (sent[0] > end * .12) text(`TTFT ${ms(sent[0])}`, (left + x(sent[0])) / 2, y(0) + 18);
  writes.forEach(([due, at], number) => {
    const late = at - due > .005;
    svg.append(shape("line", { x1: x(due), x2: x(at), y1: y(number), y2: y(number), class: late ? "late" : "sent", "stroke-width": 2 }),
      shape("line", { x1: x(due), x2: x(due), y1: y(number) - 3, y2: y(number) + 3, class: "planned", "stroke-width": 1.5 }),
      shape("circle", { cx: x(at).toFixed(1), cy: y(number).toFixed(1), r: writes.length > 60 ? 1.5 : 2.5, fill: "currentColor", class: late ? "late" : "sent", stroke: "none" }));
  });
  const itl = gaps.length ? ` · ITL p50 ${ms(median)}, max ${ms(sorted.at(-1))}` : "";
  return [svg, el("p", { className: "quiet caption" }, `TTFT ${ms(sent[0])}${itl} · bar: planned, dot: sent, red: more than 5 ms late`)];
}
