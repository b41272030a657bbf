import { request } from "node:http";
import { request as requestTls } from "node:https";
import { expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { anAlphaSandbox, core } from "../support/builders/versions.ts";
import { clientOf, LocalMode } from "../support/labs/local-mode.ts";
import { reviewOf } from "../support/labs/webhook-world.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { startPrograms } from "./programs.ts";
import { type Port, storm } from "./send.ts";

const seed = 20_261_122;

interface Question {
  readonly path: string;
  readonly hostName?: string;
  readonly body?: unknown;
}

/** The status and the body of a port's response to a complete request. */
function ask({ host, port, tls }: Port, { path, hostName = "localhost", body }: Question) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const method = text === undefined ? "GET" : "POST";
  const options = { host, port, path, method, headers: { host: hostName }, agent: false };
  return new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const call = tls ? requestTls({ ...options, ...tls, rejectUnauthorized: false }) : request(options);
    call.on("error", reject).on("response", async (response) => {
      let answer = "";
      for await (const chunk of response) answer += chunk;
      resolve({ status: response.statusCode ?? 0, text: answer });
    });
    call.end(text);
  });
}

/** The counters of unexpected errors that are not 0. */
const unexpectedIn = (metrics: string): readonly string[] =>
  metrics.split("\n").filter((line) => /^rouse_unexpected_errors_total\{.*\} [1-9]/.test(line));

it("both programs keep serving on all of their ports after malformed and incomplete messages", {
  timeout: 120_000,
}, async () => {
  await using programs = await startPrograms();
  const { ports, hostName, activator, controller } = programs;
  const random = seededRandom(seed);
  await Promise.all(Object.values(ports).map((port) => storm(port, random)));

  expect([activator.runs, controller.runs], [...activator.lines, ...controller.lines].join("\n")).toEqual([true, true]);
  const alive = { status: 200, text: "alive" };
  expect(await ask(ports.front, { path: "/", hostName })).toEqual(alive);
  expect(await ask(ports.tlsFront, { path: "/", hostName })).toEqual(alive);
  expect(await ask(ports.tcpFront, { path: "/" })).toEqual(alive);
  expect(await ask(ports.drain, { path: "/drain/v1/activity", body: {} })).toMatchObject({ status: 200 });
  expect(await ask(ports.activatorHealth, { path: "/readyz" })).toMatchObject({ status: 200 });
  expect(await ask(ports.controllerHealth, { path: "/readyz" })).toMatchObject({ status: 200 });
  const body = reviewOf([anAlphaSandbox({ replicas: 0 })], core.beta);
  expect(await ask(ports.webhook, { path: "/convert", body })).toMatchObject({ status: 200 });
  for (const port of [ports.activatorMetrics, ports.controllerMetrics]) {
    const { text } = await ask(port, { path: "/metrics" });
    expect(text).toContain('rouse_unexpected_errors_total{where="process"} 0');
    expect(unexpectedIn(text)).toEqual([]);
  }
});

it("local mode keeps serving on all of its ports after malformed and incomplete messages", {
  timeout: 120_000,
}, async () => {
  await using local = new LocalMode();
  const ready = await local.start("--no-example");
  const portOf = (name: string, url: string): Port => {
    const { hostname: host, port, protocol } = new URL(url);
    return { name, host, port: Number(port), ...(protocol === "https:" && { tls: {} }) };
  };
  const random = seededRandom(seed + 1);
  const names = ["api", "activator", "metrics"] as const;
  await Promise.all(names.map((name) => storm(portOf(name, ready[name]), random)));

  await using client = clientOf(ready);
  expect((await client.list(podType)).items).toEqual([]);
  const hostName = "nobody.default.sandbox.localhost";
  expect(await ask(portOf("activator", ready.activator), { path: "/", hostName })).toMatchObject({ status: 404 });
  const { text } = await ask(portOf("metrics", ready.metrics), { path: "/metrics" });
  expect(unexpectedIn(text), local.output).toEqual([]);
});
