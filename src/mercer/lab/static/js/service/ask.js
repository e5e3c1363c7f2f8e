// One question to the service, one answer or one error that can be shown as it is.

import { found, lost } from "./connection.js";

export class Refusal extends Error {
  constructor(message, { field = null, witness = null, status = 0 } = {}) {
    super(message);
    this.field = field;
    this.witness = witness;
    this.status = status;
  }
}

export class Gone extends Error {
  constructor() {
    super("The lab's service does not answer. Start `mercer lab` again, then retry.");
  }
}

async function answerOf(response) {
  try {
    return await response.json();
  } catch {
    throw new Refusal(`The service answered ${response.status} without words.`, { status: response.status });
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    lost();
    throw new Gone();
  }
  found();
  const answer = await answerOf(response);
  if (!response.ok) {
    const words = answer.error || `The service answered ${response.status}.`;
    throw new Refusal(words, { field: answer.field, witness: answer.witness, status: response.status });
  }
  return answer;
}

export const get = (path, signal) => ask(path, { signal });

export const post = (path, body, signal) =>
  ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal });
