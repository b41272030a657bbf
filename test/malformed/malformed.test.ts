import { request } from "node:http";
import { request as requestTls } from "node:https";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { anAlphaSandbox, core } from "../support/builders/versions.ts";
import { connectOverHttp1, connectOverHttp2 } from "../support/grpc/web-clients.ts";
import { openHttp2Client } from "../support/http2-client.ts";
import { clientOf, LocalMode } from "../support/labs/local-mode.ts";
import { reviewOf } from "../support/labs/webhook-world.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { grpcWebMessages, http2Messages } from "./http2-messages.ts";
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

/** What a program with TLS of its own answers to a client that names its sandbox. */
async function askByName({ host, port }: Port, servername: string): Promise<string> {
  const socket = connectTls({ host, port, servername, rejectUnauthorized: false });
  let answer = "";
  for await (const bytes of socket) answer += bytes;
  return answer;
}

/** What comes back of a call of gRPC-Web. */
async function callTheWeb(open: typeof connectOverHttp1, { host, port }: Port, grpcPort: number) {
  using client = open({ host, port });
  const headers = { "x-sandbox-id": "nova", "x-sandbox-port": `${grpcPort}` };
  const { code, details, messages } = await client.call("Unary", "alive", { headers });
  return { code, details, messages };
}

/** The whole response to a request behind a PROXY header. */
async function askBehind({ header, ...port }: Port & { readonly header: Buffer }, hostName: string): Promise<string> {
  const socket = connect(port);
  const request = `GET / HTTP/1.1\r\nHost: ${hostName}\r\nConnection: close\r\n\r\n`;
  socket.write(Buffer.concat([header, Buffer.from(request)]));
  return String(Buffer.concat(await Array.fromAsync(socket)));
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
  for (const { host, port, tls } of [ports.front, ports.tlsFront] as readonly Port[]) {
    using client = openHttp2Client(`${tls ? "https" : "http"}://${host}:${port}`);
    const { status, body } = await client.ask({ ":authority": hostName });
    expect([status, body]).toEqual([200, "alive"]);
  }
  for (const open of [connectOverHttp1, connectOverHttp2]) {
    const echoed = { code: 0, details: "", messages: ["alive"] };
    expect(await callTheWeb(open, ports.front, programs.grpcPort)).toEqual(echoed);
  }
  expect(await askByName(ports.byName, programs.tlsHostName)).toBe("alive");
  expect(await ask(ports.tcpFront, { path: "/" })).toEqual(alive);
  expect(await askBehind(ports.proxiedFront, hostName)).toMatch(/^HTTP\/1\.1 200 .*alive$/s);
  expect(await askBehind(ports.proxiedTcpFront, hostName)).toMatch(/^HTTP\/1\.1 200 .*alive$/s);
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
  const ready = await local.start("--no-example", "--http2");
  const portOf = (name: string, url: string): Port => {
    const { hostname: host, port, protocol } = new URL(url);
    const own = name === "activator" ? { own: [...http2Messages, ...grpcWebMessages] } : {};
    return { name, host, port: Number(port), ...(protocol === "https:" && { tls: {} }), ...own };
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
