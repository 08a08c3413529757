// The application of application.py and its ten flaws over the clients for Node: `node play.js SDK`, with the input of
// play.py.
"use strict";

const TOKENS = 20;
const PAGES = 10;
const AT_ONCE = 8;
const PASSING = [0, 408, 429, 500, 502, 503, 504]; // 0: no answer at all
const TOOLS = [
  {
    type: "function",
    function: {
      name: "search",
      description: "Search the library",
      parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
    },
  },
];

class Failed extends Error {
  constructor(cause, { status = 0, asked = null, isBegun = false } = {}) {
    super(`${status}: ${cause}`, { cause });
    Object.assign(this, { status, asked, isBegun });
  }
}

class BudgetSpent extends Error {}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const say = (content) => ({ role: "user", content });

async function leaveOut(part) {
  try {
    await part;
  } catch (error) {
    if (!(error instanceof Failed || error instanceof BudgetSpent)) throw error;
  }
}

class Application {
  timeout = 5;
  attempts = 3;
  atOnce = AT_ONCE;
  staysFor = 0;
  spent = 0;
  opened = [];

  constructor(client, budget) {
    Object.assign(this, { client, budget });
  }

  async run() {
    for (const part of ["summarise", "converse", "lookUp", "skim"]) await leaveOut(this[part]());
    await pause(this.staysFor);
    for (const stream of this.opened) await stream.close();
  }

  async summarise() {
    const pages = [...Array(PAGES).keys()];
    const work = async () => {
      while (pages.length) await leaveOut(this.ask([say(`Summarise page ${pages.shift()}.`)], []));
    };
    await Promise.all([...Array(this.atOnce)].map(work));
  }

  async converse() {
    const first = await this.read([say("What are tides?")]);
    await this.read([say("What are tides?"), { role: "assistant", content: first }, say("And why?")]);
  }

  async lookUp() {
    const messages = [say("Search for tides.")];
    const answer = await this.ask(messages, TOOLS);
    if (!answer.calls.length) return;
    const results = answer.calls.map((call) => ({
      role: "tool",
      tool_call_id: call.id,
      content: this.useTool(call.function.arguments),
    }));
    await this.ask([...messages, { role: "assistant", content: "", tool_calls: answer.calls }, ...results], TOOLS);
  }

  useTool(text) {
    let query;
    try {
      query = JSON.parse(text).query;
    } catch (error) {
      return `Error: the arguments are not valid: ${error}`;
    }
    return `3 books about ${query}`;
  }

  async skim() {
    await this.attempt(() => this.paid(() => this.begin([say("Write a novel.")])));
    await this.ask([say("What is it called?")], []);
  }

  async begin(messages) {
    const stream = await this.client.stream(messages, this.timeout);
    const { value } = await stream.pieces.next();
    await this.leave(stream);
    return { text: value?.text ?? "", tokens: null };
  }

  leave(stream) {
    return stream.close();
  }

  ask(messages, tools) {
    return this.attempt(() => this.paid(() => this.client.ask(messages, tools, this.timeout)));
  }

  async read(messages) {
    return (await this.attempt(() => this.paid(() => this.readStream(messages)))).text;
  }

  async readStream(messages) {
    const stream = await this.client.stream(messages, this.timeout);
    const found = { text: "", tokens: null, isFinished: false };
    try {
      for (let each; !(each = await stream.pieces.next()).done; ) {
        found.text += each.value.text;
        found.isFinished ||= each.value.isLast;
        found.tokens = each.value.tokens ?? found.tokens;
      }
    } finally {
      await stream.close();
    }
    if (!found.isFinished) this.meetCut();
    return found;
  }

  meetCut() {
    throw new Failed("the stream has no end", { isBegun: true });
  }

  async paid(call) {
    if (this.budget !== null && this.spent + TOKENS > this.budget) throw new BudgetSpent();
    this.spent += TOKENS;
    const answer = await call();
    this.spent += this.count(answer) - TOKENS;
    return answer;
  }

  count(answer) {
    return answer.tokens ?? TOKENS;
  }

  async attempt(call) {
    for (let number = 1; number < this.attempts; number++) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof Failed && this.mayMend(error))) throw error;
        await pause(this.wait(error, number));
      }
    }
    return call();
  }

  mayMend(error) {
    return PASSING.includes(error.status) && !error.isBegun;
  }

  wait(error, number) {
    if (error.asked !== null) return error.asked * (1 + Math.random() / 2);
    return 8 ** (number - 1) * (1 + 3 * Math.random());
  }
}

const PROGRAMS = {
  sound: Application,
  "retries a content filter": class extends Application {
    attempts = 2;
    mayMend(error) {
      return super.mayMend(error) || [400, 424].includes(error.status);
    }
  },
  "ignores Retry-After": class extends Application {
    wait(error, number) {
      return error.asked === null ? super.wait(error, number) : 0.2;
    }
  },
  "takes a cut stream for whole": class extends Application {
    meetCut() {}
  },
  hangs: class extends Application {
    timeout = 60;
  },
  "loses usage": class extends Application {
    count(answer) {
      return answer.tokens ?? 0;
    }
  },
  "asks again after delivery": class extends Application {
    mayMend(error) {
      return super.mayMend(error) || error.isBegun;
    }
  },
  "no jitter": class extends Application {
    wait(error, number) {
      return error.asked ?? 12 ** number;
    }
  },
  "leaks streams": class extends Application {
    staysFor = 4;
    leave(stream) {
      this.opened.push(stream);
    }
  },
  "unbounded concurrency": class extends Application {
    atOnce = PAGES;
  },
  "acts on bad arguments": class extends Application {
    useTool(text) {
      try {
        return `3 books about ${JSON.parse(text).query}`;
      } catch {
        return `3 books about ${text}`;
      }
    }
  },
};

const readWait = (value) => (value === null || value === undefined ? null : Number(value));

const readPiece = (chunk) => ({
  text: chunk.choices?.[0]?.delta?.content ?? "",
  isLast: Boolean(chunk.choices?.[0]?.finish_reason),
  tokens: chunk.usage?.completion_tokens ?? null,
});

const readAnswer = (answer) => ({
  text: answer.choices[0].message.content ?? "",
  tokens: answer.usage?.completion_tokens ?? null,
  calls: answer.choices[0].message.tool_calls ?? [],
});

async function* follow(chunks, read = readPiece) {
  try {
    for (let each; !(each = await chunks.next()).done; ) yield read(each.value);
  } catch (error) {
    throw new Failed(error, { isBegun: true });
  }
}

const withTools = (tools) => (tools.length ? { tools } : {});

const makeOpenAI = (place, model, streamed) => (url, key) => {
  const { OpenAI, APIError } = require("openai");
  const client = new OpenAI({ baseURL: url + place, apiKey: key, maxRetries: 0 });
  const create = async (messages, timeout, more) => {
    const body = { model, messages, max_tokens: TOKENS, ...more };
    try {
      return await client.chat.completions.create(body, { timeout: timeout * 1000 });
    } catch (error) {
      if (!(error instanceof APIError)) throw error;
      throw new Failed(error, { status: error.status ?? 0, asked: readWait(error.headers?.get("retry-after")) });
    }
  };
  return {
    ask: async (messages, tools, timeout) => readAnswer(await create(messages, timeout, withTools(tools))),
    stream: async (messages, timeout) => {
      const stream = await create(messages, timeout, { stream: true, ...streamed });
      return { pieces: follow(stream[Symbol.asyncIterator]()), close: () => stream.controller.abort() };
    },
  };
};

function makeAzureInference(url, key) {
  const { default: create, isUnexpected } = require("@azure-rest/ai-inference");
  const { AzureKeyCredential } = require("@azure/core-auth");
  const { createSseStream } = require("@azure/core-sse");
  const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
  const client = create(url, new AzureKeyCredential(key), options);
  const post = (messages, signal, more) =>
    client.path("/chat/completions").post({ body: { messages, max_tokens: TOKENS, ...more }, abortSignal: signal });
  const check = (status, headers, cause) => {
    if (Number(status) !== 200)
      throw new Failed(cause, { status: Number(status), asked: readWait(headers["retry-after"]) });
  };
  const send = async (call, timeout) => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeout * 1000);
    try {
      return [await call(controller.signal), controller];
    } catch (error) {
      throw new Failed(error);
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    ask: async (messages, tools, timeout) => {
      const [answer] = await send((signal) => post(messages, signal, withTools(tools)), timeout);
      if (isUnexpected(answer)) check(answer.status, answer.headers, JSON.stringify(answer.body));
      return readAnswer(answer.body);
    },
    stream: async (messages, timeout) => {
      const [answer, controller] = await send(
        (signal) => post(messages, signal, { stream: true }).asNodeStream(),
        timeout,
      );
      check(answer.status, answer.headers, "no stream");
      const events = createSseStream(answer.body)[Symbol.asyncIterator]();
      const chunks = (async function* () {
        for (let each; !(each = await events.next()).done && each.value.data !== "[DONE]"; )
          yield JSON.parse(each.value.data);
      })();
      const close = () => {
        answer.body.on("error", () => {}); // of a stream that is broken off
        controller.abort();
        answer.body.destroy();
      };
      return { pieces: follow(chunks), close };
    },
  };
}

function makeHuggingFace(url, key) {
  const { InferenceClient } = require("@huggingface/inference");
  const open = (timeout) => {
    const controller = new AbortController();
    const seen = { controller, answer: null };
    const timer = setTimeout(() => controller.abort(), timeout * 1000);
    const fetchOnce = async (input, init) => {
      try {
        return (seen.answer = await fetch(input, init));
      } finally {
        clearTimeout(timer);
      }
    };
    const options = { endpointUrl: url, fetch: fetchOnce, retry_on_error: false, signal: controller.signal };
    return [new InferenceClient(key, options), seen];
  };
  const fail = (error, { answer }) =>
    new Failed(error, {
      status: answer === null || answer.ok ? 0 : answer.status,
      asked: readWait(answer?.headers.get("retry-after")),
      isBegun: answer !== null && answer.ok,
    });
  return {
    ask: async (messages, tools, timeout) => {
      const [client, seen] = open(timeout);
      try {
        return readAnswer(await client.chatCompletion({ messages, max_tokens: TOKENS, ...withTools(tools) }));
      } catch (error) {
        throw fail(error, seen);
      }
    },
    stream: async (messages, timeout) => {
      const [client, seen] = open(timeout);
      const chunks = client.chatCompletionStream({ messages, max_tokens: TOKENS, stream_options: { include_usage: true } });
      let first;
      try {
        first = await chunks.next(); // which sends the request
      } catch (error) {
        throw fail(error, seen);
      }
      const all = (async function* () {
        for (let each = first; !each.done; each = await chunks.next()) yield each.value;
      })();
      return { pieces: follow(all), close: () => seen.controller.abort() };
    },
  };
}

const SDKS = {
  "openai (Node)": makeOpenAI("/openai/v1/", "gpt-4o", { stream_options: { include_usage: true } }),
  "openai (Node) on Databricks": makeOpenAI("/serving-endpoints", "databricks-meta-llama-3-3-70b-instruct", {}),
  "@azure-rest/ai-inference": makeAzureInference,
  "@huggingface/inference": makeHuggingFace,
};

async function main(name) {
  let text = "";
  for await (const piece of process.stdin) text += piece;
  const runs = [];
  for (const line of text.trim().split("\n")) {
    const { program, url, key, budget, pause: seconds } = JSON.parse(line);
    runs.push(new PROGRAMS[program](SDKS[name](url, key), budget).run());
    await pause(seconds);
  }
  await Promise.all(runs);
}

main(process.argv[2]).then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
