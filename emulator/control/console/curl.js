// ---------------------------------------------------------------- the curl line

/** A text as one word of sh, bash, zsh and fish. The rules are those of `emulator/cli/quoting.py`.
 *
 * fish reads a backslash before a quote or another backslash, and history expansion reads `!` within double quotes: the
 * former stand outside quotes, and no text stands in double quotes. A terminal takes a pasted control character for a
 * key, so `printf` makes it.
 */
function quote(text) {
  const word = wellFormed(text), kept = word.replace(/\n+$/, "");
  if (/^[A-Za-z0-9_][A-Za-z0-9_@%+:,./-]*$/.test(word)) return word;
  if (/[\x01-\x09\x0b-\x1f\x7f-\x9f]|(?<![\ud800-\udbff])[\udc80-\udcff]/.test(word)) // a shell takes line breaks off the end of what a program writes
    return `"$(printf '${Array.from(kept, escapeLetter).join("")}')"${kept === word ? "" : `'${word.slice(kept.length)}'`}`;
  return (word.match(/'|\\(?=['\\]|$)|(?:[^'\\]|\\(?!['\\]|$))+/g) ?? [""]).map((part) => (part === "'" || part === "\\" ? `\\${part}` : `'${part}'`)).join("");
}
/** A letter as `printf` reads it; a byte that was no UTF-8 came as half a character. */
function escapeLetter(letter) {
  if (/^[A-Za-z0-9 _@+:,./]$/.test(letter)) return letter;
  const bytes = /^[\udc80-\udcff]$/.test(letter) ? [letter.charCodeAt(0) - 0xdc00] : new TextEncoder().encode(letter);
  return Array.from(bytes, (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}
/** Halves of characters that stand for no byte become the character for what is unknown. */
function wellFormed(text) {
  return String(text).replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udc7f\udd00-\udfff]/g, "\ufffd");
}
function encodePath(path) {
  return wellFormed(path).replace(/[\ud800-\udbff][\udc00-\udfff]|[^A-Za-z0-9._~!$&()*+,;=:@/-]/g, (character) =>
    /^[\udc80-\udcff]$/.test(character) ? `%${(character.charCodeAt(0) - 0xdc00).toString(16).toUpperCase()}` : character === "'" ? "%27" : encodeURIComponent(character));
}

const SECRET = /^(authorization|api-key|x-api-key)$/;
const SCHEME = /^(basic|bearer|digest|token|apikey) /i; // of what else stands there nothing is shown
const LEFT = /^(host|content-length|accept-encoding|connection|user-agent|accept|x-stainless.*|baggage|traceparent|x-emulator-session)$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/; // of a header; curl reads the file named after an @

/** A command that makes a call again, but for its credential, which it takes from `$TOKEN`. */
function curlLine(call, base) {
  const { request } = call, headers = Object.entries(request.headers ?? {}).filter(([name]) => NAME.test(name));
  const query = new URLSearchParams(request.query ?? {}).toString();
  const lines = [`curl -N${/(^|\/)\.\.?(\/|$)/.test(call.path) ? " --path-as-is" : ""} -X ${quote(call.method)} ${quote(base + encodePath(call.path) + (query && `?${query}`))}`];
  for (const [name, value] of headers)
    if (SECRET.test(name)) lines.push(`-H ${quote(`${name}: ${value.match(SCHEME)?.[0] ?? ""}`)}"$TOKEN"`);
    else if (!LEFT.test(name)) lines.push(`-H ${quote(value === "" ? `${name};` : `${name}: ${value}`)}`);
  if (call.session) lines.push(`-H ${quote(`x-emulator-session: ${call.session}`)}`); // however it was named
  const body = request.raw ?? (request.body === null || typeof request.body === "string" ? request.body : JSON.stringify(request.body));
  if (body === null) return lines.join(" \\\n  ");
  if (!headers.some(([name]) => name === "content-type")) lines.push("-H content-type:"); // or curl sends one of its own
  const packed = request.encoding === "base64" ? body : body.includes("\0") ? pack(body) : null;
  lines.push(packed === null ? `--data-raw ${quote(body)}` : "--data-binary @-");
  if (packed !== null) lines[0] = `printf %s ${quote(packed)} | base64 -d | ${lines[0]}`;
  return `${request.cut ? ": 'of the body only the beginning is kept'\n" : ""}${lines.join(" \\\n  ")}`;
}
function pack(text) {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""));
}
