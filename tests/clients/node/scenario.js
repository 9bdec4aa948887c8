// Naming scenarios, comparing, waiting with an end, and reporting, as ../python/scenario.py does it.
"use strict";

const { isDeepStrictEqual, inspect } = require("node:util");

// How long anything may take that has no limit of its own.
const PATIENCE_MS = 30_000;

class Wrong extends Error {}

function equal(want, got, what) {
  if (!isDeepStrictEqual(want, got)) throw new Wrong(`${what}: want ${short(want)}, got ${short(got)}`);
}

function that(holds, what) {
  if (!holds) throw new Wrong(what);
}

function short(value) {
  const text = inspect(value, { depth: 4, breakLength: Infinity });
  return text.length <= 600 ? text : `${text.slice(0, 600)}…`;
}

// The action must fail with an error of this `type` that has these fields.
async function refused(type, what, action, fields = {}) {
  let error;
  try {
    await action();
  } catch (caught) {
    error = caught;
  }
  that(error, `${what}: want ${type}, but it succeeded`);
  if (error.type !== type) throw new Wrong(`${what}: want ${type}, got ${error.type}: ${error.stack}`);
  for (const [name, value] of Object.entries(fields)) equal(value, error[name], `${what}: ${name}`);
  return error;
}

async function eventually(what, holds) {
  const end = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (Date.now() > end) throw new Wrong(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// Ends a wait that is too long.
function soon(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Wrong(`not in time: ${what}`)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function main(scenarios, open) {
  if (process.argv[2] === "--list") {
    console.log(Object.keys(scenarios).join("\n"));
    return;
  }
  const [address, ...asked] = process.argv.slice(2);
  let failed = false;
  for (const [name, run] of Object.entries(scenarios)) {
    if (asked.length && !asked.includes(name)) continue;
    const start = Date.now();
    let verdict = "pass";
    const store = open(address, name);
    const lack = store.lacks?.[name] ?? (name.endsWith("_restart") && !process.env.CLIENTS_RESTART && "there is nobody to restart the server");
    if (lack) {
      console.log(`RESULT ${name} skip 0 ${lack}`);
      continue;
    }
    try {
      await run(store);
    } catch (error) {
      verdict = "fail";
      failed = true;
      for (const line of `${error.stack}`.split("\n")) console.log("|", line);
    }
    await store.close().catch((error) => console.error(`${name}: closing: ${error}`));
    console.log(`RESULT ${name} ${verdict} ${((Date.now() - start) / 1000).toFixed(2)}`);
  }
  // A connection that stays open must not keep the program.
  process.exit(failed ? 1 : 0);
}

module.exports = { equal, eventually, main, refused, soon, that };
