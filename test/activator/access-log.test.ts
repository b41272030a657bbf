import { readFileSync } from "node:fs";
import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { createLogger } from "../../lib/log/log.ts";
import { eventually } from "../support/eventually.ts";
import { EchoClient, startEchoServer } from "../support/grpc/echo-service.ts";
import { openHttp2Client } from "../support/http2-client.ts";
import { httpProgram, openActivatorWorld, rawConnection, sandboxPort } from "../support/labs/activator-world.ts";

const host = "nova.default.sandbox.localhost";

/** The keys that a table of the page about operating names. */
const documented = new Set(
  readFileSync("docs/operating.md", "utf8")
    .split("## The access log")[1]
    ?.split("\n## ")[0]
    ?.split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, key]) => key)),
);

async function openLogged(...flags: readonly string[]) {
  const lines: string[] = [];
  const sink = new Writable({ write: (chunk, _, done) => done(void lines.push(...String(chunk).split("\n"))) });
  const world = await openActivatorWorld(
    ["--http2", "--access-log=true", ...flags],
    {},
    { log: createLogger("test", "info", sink) },
  );
  const entries = () =>
    lines
      .filter((line) => line.includes('"msg":"request"'))
      .map((line): Readonly<Record<string, unknown>> => JSON.parse(line));
  return { world, entries, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

describe("a line of the access log", () => {
  it("names the protocol of its request, and the page about operating names all its keys", async () => {
    await using logged = await openLogged();
    const { activator } = logged.world;
    await logged.world.awake(
      "nova",
      httpProgram((_, answer) => answer.end("hello")),
    );
    for (const version of ["1.0", "1.1"]) {
      using connection = await rawConnection(activator);
      connection.send(`GET /${version} HTTP/${version}\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(await connection.closed()).toMatch(/ 200 /);
    }
    using client = openHttp2Client(activator.proxyPort);
    expect(await client.ask({ ":authority": host, ":path": "/2" })).toMatchObject({ status: 200 });
    {
      using connection = await rawConnection(activator);
      const type = "Connection: close\r\nContent-Type: application/grpc-web\r\nContent-Length: 0\r\n";
      connection.send(`POST /web HTTP/1.1\r\nHost: ${host}\r\n${type}\r\n`);
      expect(await connection.closed()).toContain("grpc-status: 14"); // the program does not speak HTTP/2
    }
    await eventually(() => logged.entries().length === 4);
    const protocols = Object.fromEntries(logged.entries().map(({ path, protocol }) => [path, protocol]));
    expect(protocols).toEqual({ "/1.0": "HTTP/1.0", "/1.1": "HTTP/1.1", "/2": "HTTP/2", "/web": "gRPC-Web" });
    expect(logged.entries().find(({ path }) => path === "/web")).toMatchObject({ status: 200, grpc_status: "14" });
    for (const entry of logged.entries()) expect(Object.keys(entry).filter((key) => !documented.has(key))).toEqual([]);
  });

  it("names the sandbox of its request, whatever named it; a rejected one has what its headers say", async () => {
    await using logged = await openLogged("--path-routing-prefix=/s");
    const { activator } = logged.world;
    await logged.world.awake(
      "nova",
      httpProgram((_, answer) => answer.end("hello")),
    );
    const requests = [
      `GET /1 HTTP/1.1\r\nHost: ${host}`,
      "GET /2 HTTP/1.1\r\nHost: localhost\r\nX-Sandbox-ID: nova",
      "GET /s/default/nova/8888/3?token=x HTTP/1.1\r\nHost: localhost",
      "GET /s/default/4 HTTP/1.1\r\nHost: localhost\r\nX-Sandbox-ID: another",
    ];
    for (const [at, request] of requests.entries()) {
      using connection = await rawConnection(activator);
      connection.send(`${request}\r\nConnection: close\r\n\r\n`);
      await connection.closed();
      await eventually(() => logged.entries().length === at + 1);
    }
    const named = logged
      .entries()
      .map(({ path, sandbox_namespace, sandbox_id }) => [path, sandbox_namespace, sandbox_id]);
    expect(named).toEqual([
      ["/1", "default", "nova"],
      ["/2", "default", "nova"],
      ["/s/default/nova/8888/3", "default", "nova"],
      ["/s/default/4", "", "another"],
    ]);
  });

  it("is not written for a request whose head is refused", async () => {
    await using logged = await openLogged();
    const { activator } = logged.world;
    await logged.world.awake(
      "nova",
      httpProgram((_, answer) => answer.end("hello")),
    );
    const heads = [
      ["400", `GET /malformed HTTP/1.1\r\nHost: ${host}\r\nbad header\r\n\r\n`],
      ["414", `GET /${"x".repeat(100_000)} HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
      ["417", `GET /expect HTTP/1.1\r\nHost: ${host}\r\nExpect: x\r\n\r\n`],
      ["431", `GET /large HTTP/1.1\r\nHost: ${host}\r\nX-A: ${"x".repeat(100_000)}\r\n\r\n`],
      ["200", `GET /served HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`],
    ] as const;
    using client = openHttp2Client(activator.proxyPort);
    const refused = client.ask({ ":authority": host, ":path": "/2", expect: "x" });
    expect(await refused).toMatchObject({ status: 417 });
    for (const [status, head] of heads) {
      using connection = await rawConnection(activator);
      connection.send(head);
      expect(await connection.closed()).toContain(` ${status} `);
    }
    await eventually(() => logged.entries().length > 0);
    expect(logged.entries().map(({ path }) => path)).toEqual(["/served"]);
  });

  it("names gRPC as the protocol of a call, with the status of the call and the wake", async () => {
    await using logged = await openLogged();
    await logged.world.asleep("nova", (podIp) => startEchoServer(sandboxPort, podIp));
    using client = new EchoClient(`127.0.0.1:${logged.world.activator.proxyPort}`, host);
    expect((await client.call("Unary", ["one"])).code).toBe(0);
    await eventually(() => logged.entries().length === 1);
    const [entry = {}] = logged.entries();
    expect(entry).toMatchObject({ protocol: "gRPC", method: "POST", path: "/test.Echo/Unary", grpc_status: "0" });
    expect(Object.keys(entry).filter((key) => !documented.has(key))).toEqual([]);
    expect(entry).toHaveProperty("wake");
  });
});
