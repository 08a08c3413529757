// node --test testcontainers.test.mjs, with `npm install --save-dev testcontainers openai`.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import OpenAI from "openai";
import { GenericContainer, Wait } from "testcontainers";

const image = "ghcr.io/llm-emulator/llm-emulator:0.1.0";
const scenarios = fileURLToPath(new URL("scenarios", import.meta.url));
let container;

before(async () => {
  container = await new GenericContainer(image)
    .withExposedPorts(4010, 4011)
    .withBindMounts([{ source: scenarios, target: "/scenarios", mode: "ro" }])
    .withWaitStrategy(Wait.forHealthCheck())
    .start();
});

after(async () => await container?.stop());

test("a busy service is asked again", async () => {
  const host = container.getHost();
  const client = new OpenAI({
    baseURL: `http://${host}:${container.getMappedPort(4011)}/serving-endpoints`,
    apiKey: "any",
  });
  const answer = await client.chat.completions.create({
    model: "databricks-meta-llama-3-3-70b-instruct",
    messages: [{ role: "user", content: "How often do tides come?" }],
  });
  assert.ok(answer.choices[0].message.content);

  const journal = await fetch(`http://${host}:${container.getMappedPort(4010)}/_emulator/requests`);
  const { requests } = await journal.json();
  assert.deepEqual(requests.map((call) => call.status), [429, 200]);
});
