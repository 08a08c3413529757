// Make the calls of a plan (standard input, as cases.py writes it) with the clients for Node; print a line for each.
const { OpenAI, AzureOpenAI, toFile } = require('openai');
const { default: Anthropic } = require('@anthropic-ai/sdk');
const { Types } = require('./walk.cjs');

const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

function connect({ client, url, key, headers, api_version: apiVersion }) {
  const options = { apiKey: key, defaultHeaders: headers, maxRetries: 0 };
  if (client === 'azure') return new AzureOpenAI({ ...options, endpoint: url, apiVersion });
  return client === 'anthropic' ? new Anthropic({ ...options, baseURL: url }) : new OpenAI({ ...options, baseURL: url });
}

// Ids come before the body; of two ids the first is a field of the body, named after what it is the id of.
async function listArguments({ call, args, body, file }) {
  const fields = body && { ...body };
  if (file) fields[file.field] = await toFile(Buffer.from(file.base64, 'base64'), file.name, { type: file.type });
  if (args.length < 2) return [...args, ...(fields ? [fields] : [])];
  const owner = call.startsWith('conversations') ? 'conversation_id' : 'vector_store_id';
  return [args[1], { [owner]: args[0], ...fields }];
}

async function collect(client, method, request, streamed) {
  const names = method.split('.');
  const last = names.pop();
  const holder = names.reduce((found, name) => found[name], client);
  const answer = await holder[last](...(await listArguments(request)));
  if (typeof answer?.getPaginatedItems === 'function') return answer.getPaginatedItems();
  if (streamed) {
    const events = [];
    for await (const event of answer) events.push(event);
    return events;
  }
  if (typeof answer?.arrayBuffer === 'function') return [new Uint8Array(await answer.arrayBuffer()).length > 0];
  return [answer];
}

const pick = (value, path) => path.split('.').reduce((found, name) => found?.[name], value);

async function make(types, client, target, request) {
  const streamed = request.call.endsWith('*') || request.call.endsWith('.results');
  const method = camel(request.call.replace(/\*$/, ''));
  const root = target.client === 'anthropic' ? 'anthropic' : target.client;
  let answers, wanted;
  try {
    answers = await collect(client, method, request, streamed);
    wanted = types.returned(root, method, streamed);
    if (request.status) return { failed: `no status ${request.status}`, answers: 0, found: [], kept: [] };
  } catch (error) {
    if (!request.status || error.status !== request.status) {
      return { failed: String(error.stack ?? error).slice(0, 400), answers: 0, found: [], kept: [] };
    }
    if (typeof error.error !== 'object') return { answers: 1, found: [{ place: '.', kind: 'misfit' }], kept: [] };
    answers = [error.error];
    wanted = [types.root(root === 'anthropic' ? 'anthropicError' : 'openaiError')];
  }
  const found = [];
  for (const answer of answers) {
    if (typeof answer === 'object' && answer !== null) found.push(...types.nearest(JSON.parse(JSON.stringify(answer)), wanted));
  }
  return { answers: answers.length, found: found.map(({ place, kind }) => ({ place: place || '.', kind })), kept: answers };
}

async function main() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  const { targets } = JSON.parse(Buffer.concat(chunks).toString());
  const types = new Types();
  for (const target of targets) {
    const client = connect(target);
    const saved = {};
    for (const raw of target.calls) {
      let text = JSON.stringify(raw);
      for (const [name, value] of Object.entries(saved)) text = text.replaceAll(`{${name}}`, value);
      const request = JSON.parse(text);
      const { kept, ...said } = await make(types, client, target, request);
      for (const [name, path] of Object.entries(request.save ?? {})) saved[name] = pick(kept[0], path) ?? '';
      console.log(JSON.stringify({ target: target.name, call: request.call, name: request.name, ...said }));
    }
  }
}

main();
