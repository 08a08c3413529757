// The process of one client for Node: `node program.cjs SDK`, with the input and the output of program.py.
// Each client is as its documentation has it, without a setting of retries or timeouts.
"use strict";

const readline = require("node:readline");

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const write = (line) => process.stdout.write(`${line}\n`);
const CLAUDE = "databricks-claude-sonnet-4-5";

// any client with the methods of openai
const useOpenAI = (client, model) => ({
  ask: async (messages, max_tokens) =>
    (await client.chat.completions.create({ model, messages, max_tokens })).choices[0].message.content,
  stream: async function* (messages, max_tokens) {
    const stream = await client.chat.completions.create({ model, messages, max_tokens, stream: true });
    for await (const chunk of stream) yield chunk.choices[0]?.delta?.content ?? "";
  },
});

function makeOpenAI({ url, path, key, model }) {
  const { OpenAI } = require("openai");
  return useOpenAI(new OpenAI({ baseURL: url + path, apiKey: key }), model);
}

function makeAzureOpenAI({ url, key, model }) {
  const { AzureOpenAI } = require("openai");
  return useOpenAI(new AzureOpenAI({ endpoint: url, apiKey: key, apiVersion: "2024-10-21" }), model);
}

function makeAzureInference({ url, key, given }) {
  const { default: create, isUnexpected } = require("@azure-rest/ai-inference");
  const { AzureKeyCredential } = require("@azure/core-auth");
  const { createSseStream } = require("@azure/core-sse");
  const model = given ?? "mistral-small-2503";
  const client = create(url, new AzureKeyCredential(key), { allowInsecureConnection: true });
  const open = (messages, max_tokens, more) =>
    client.path("/chat/completions").post({ body: { model, messages, max_tokens, ...more } });
  return {
    ask: async (messages, tokens) => {
      const answer = await open(messages, tokens, {});
      if (isUnexpected(answer)) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
      return answer.body.choices[0].message.content;
    },
    stream: async function* (messages, tokens) {
      const answer = await open(messages, tokens, { stream: true }).asNodeStream();
      if (answer.status !== "200") throw new Error(`${answer.status}: no stream`);
      for await (const event of createSseStream(answer.body)) {
        if (event.data === "[DONE]") return;
        yield JSON.parse(event.data).choices?.[0]?.delta?.content ?? "";
      }
    },
  };
}

function makeHuggingFace({ url, key, model }) {
  const { InferenceClient } = require("@huggingface/inference");
  const client = new InferenceClient(key, { endpointUrl: url });
  return {
    ask: async (messages, max_tokens) =>
      (await client.chatCompletion({ model, messages, max_tokens })).choices[0].message.content,
    stream: async function* (messages, max_tokens) {
      for await (const chunk of client.chatCompletionStream({ model, messages, max_tokens }))
        yield chunk.choices[0]?.delta?.content ?? "";
    },
  };
}

function makeAnthropic({ url, path, key, given }) {
  const { Anthropic } = require("@anthropic-ai/sdk");
  const model = given ?? CLAUDE;
  const defaultHeaders = { Authorization: `Bearer ${key}` };
  const client = new Anthropic({ baseURL: `${url}${path}/anthropic`, apiKey: "unused", defaultHeaders });
  return {
    ask: async (messages, max_tokens) =>
      (await client.messages.create({ model, messages, max_tokens })).content.map((block) => block.text ?? "").join(""),
    stream: async function* (messages, max_tokens) {
      for await (const event of await client.messages.create({ model, messages, max_tokens, stream: true }))
        if (event.type === "content_block_delta") yield event.delta.text;
    },
  };
}

// it sends max_completion_tokens, which Databricks does not know
function makeLangChain({ url, path, key, model }) {
  const { ChatOpenAI } = require("@langchain/openai");
  const open = (maxTokens) => new ChatOpenAI({ configuration: { baseURL: url + path }, apiKey: key, model, maxTokens });
  return {
    ask: async (messages, tokens) => (await open(tokens).invoke(messages)).content,
    stream: async function* (messages, tokens) {
      for await (const chunk of await open(tokens).stream(messages)) yield chunk.content;
    },
  };
}

function makeVercel({ url, path, key, model: name }) {
  const { generateText, streamText } = require("ai");
  const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");
  const model = createOpenAICompatible({ name: "emulator", baseURL: url + path, apiKey: key })(name);
  return {
    ask: async (messages, maxOutputTokens) => (await generateText({ model, messages, maxOutputTokens })).text,
    stream: async function* (messages, maxOutputTokens) {
      let failed = null; // its text stream ends at an error, which goes to the callback alone
      const onError = ({ error }) => (failed = error);
      yield* streamText({ model, messages, maxOutputTokens, onError }).textStream;
      if (failed !== null) throw failed;
    },
  };
}

const SDKS = {
  "openai (Node)": makeOpenAI,
  "AzureOpenAI (Node)": makeAzureOpenAI,
  "@azure-rest/ai-inference": makeAzureInference,
  "@huggingface/inference": makeHuggingFace,
  "@anthropic-ai/sdk": makeAnthropic,
  "@langchain/openai": makeLangChain,
  ai: makeVercel,
};

const STEPS = {
  ask: (client, messages, tokens) => client.ask(messages, tokens),
  stream: async (client, messages, tokens) => {
    let text = "";
    for await (const piece of client.stream(messages, tokens)) text += piece;
    const said = [...messages, { role: "assistant", content: text }, { role: "user", content: "Go on." }];
    await client.ask(said, tokens);
  },
  leave: async (client, messages, tokens) => {
    let pieces = 0;
    for await (const _ of client.stream(messages, tokens)) if (++pieces === 3) break;
    await client.ask([{ role: "user", content: "Never mind." }], tokens);
  },
};

const makeAll = (make, one) =>
  Object.fromEntries(one.steps.map((step) => [step.key, make({ ...one, model: one.given ?? one.usual, key: step.key })]));

async function play(one, clients) {
  const raised = [];
  const call = async (step, number) => {
    const content = step.callers > 1 ? `${step.prompt} ${number}` : step.prompt;
    try {
      await STEPS[step.do](clients[step.key], [{ role: "user", content }], step.tokens);
    } catch (error) {
      raised.push(`${error.constructor.name}: ${String(error.message).slice(0, 200)}`);
    }
  };
  for (const step of one.steps) await Promise.all([...Array(step.callers).keys()].map((number) => call(step, number)));
  return raised;
}

async function main(name) {
  const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const todo = JSON.parse((await lines.next()).value);
  const make = SDKS[name];
  const made = new Map(todo.scenarios.map((one) => [one, makeAll(make, one)]));
  const warm = todo.scenarios.find((one) => one.scenario === todo.warm);
  if (warm) {
    await play(warm, made.get(warm));
    made.set(warm, makeAll(make, warm));
  }
  write("ready");
  await lines.next();
  const runs = [];
  for (const [one, clients] of made) {
    const run = play(one, clients);
    runs.push(run.then((errors) => write(JSON.stringify({ scenario: one.scenario, errors }))));
    await pause(todo.between);
  }
  await Promise.all(runs);
  process.exit(0); // without the connections that a client leaves
}

main(process.argv[2]);
