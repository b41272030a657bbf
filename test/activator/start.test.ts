import { once } from "node:events";
import { createServer } from "node:http";
import { Writable } from "node:stream";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { parseActivatorConfig } from "../../activator/config/config.ts";
import { startActivator } from "../../activator/start.ts";
import type { TokenReview } from "../../api/kinds/reviews.ts";
import { createLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../support/eventually.ts";
import { interceptCalls } from "../support/fakes/intercepted-client.ts";
import { httpProgram, openActivatorWorld, rawConnection, sandboxPort } from "../support/labs/activator-world.ts";
import type { MemoryApi } from "../support/memory-api.ts";

const id = { "X-Sandbox-ID": "nova" };

describe("the activator", () => {
  it("answers its own health check on hosts without a sandbox", async () => {
    await using world = await openActivatorWorld();
    const { proxyUrl } = world.activator;
    const response = await fetch(`${proxyUrl}/healthz?x`, { headers: id });
    expect([response.status, await response.text()]).toEqual([200, '{"status":"ok"}']);
    expect((await fetch(`${proxyUrl}/healthz`, { method: "HEAD" })).status).toBe(200);
    expect((await fetch(`${proxyUrl}/healthz`, { method: "POST" })).status).toBe(400);
    await world.awake(
      "nova",
      httpProgram((_, answer) => answer.end("the sandbox's own")),
    );
    using connection = await rawConnection(world.activator);
    connection.send("GET /healthz HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\nConnection: close\r\n\r\n");
    expect(await connection.closed()).toMatch(/the sandbox's own$/);
  });

  it("wakes nothing for an unauthenticated client, and hides its token from the sandbox", async () => {
    await using world = await openActivatorWorld([], { ROUTER_AUTH_TOKEN: "secret" });
    await world.asleep(
      "nova",
      httpProgram(({ headers }, answer) => answer.end(JSON.stringify(headers))),
    );
    const { proxyUrl } = world.activator;
    expect((await fetch(proxyUrl, { headers: id })).status).toBe(401);
    expect((await fetch(proxyUrl, { headers: { Authorization: "Bearer wrong" } })).status).toBe(401);
    expect(world.kubelet.made("nova")).toBe(0);
    using connection = await rawConnection(world.activator);
    const head = "GET / HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\nConnection: close\r\n";
    connection.send(`${head}Authorization: Bearer secret\r\n\r\n`);
    expect(await connection.closed()).toMatch(/^HTTP\/1.1 200(?![\s\S]*secret)/);
  });

  it("reviews a token before a wake, and proxies nothing once the client left", async () => {
    const open: { readonly token: string; readonly answer: (review: object) => void }[] = [];
    const clientOf = ({ client }: MemoryApi) =>
      interceptCalls(client, ({ kind, body }, proceed) => {
        if (kind !== "TokenReview") return proceed();
        const { token } = (body as TokenReview).spec;
        return new Promise((resolve) => open.push({ token, answer: resolve }));
      });
    await using world = await openActivatorWorld(["--authz-mode=tokenreview"], {}, { clientOf });
    const seen: (string | undefined)[] = [];
    const program = httpProgram(({ headers, url }, answer) => {
      seen.push(url);
      answer.end(JSON.stringify(headers));
    });
    await world.asleep("nova", program);
    const ask = (token: string) =>
      fetch(`${world.activator.proxyUrl}/${token}`, { headers: { ...id, Authorization: `Bearer ${token}` } });
    using leaving = await rawConnection(world.activator);
    leaving.send("GET /leaves HTTP/1.1\r\nHost: x\r\nX-Sandbox-ID: nova\r\nAuthorization: Bearer leaves\r\n\r\n");
    await eventually(() => open.length === 1);
    leaving.socket.resetAndDestroy();
    const [forged, good] = [ask("forged"), ask("good")];
    await eventually(() => open.length === 3);
    expect((await world.sandbox("nova")).spec.operatingMode).toBe("Suspended");
    for (const { token, answer } of open) answer({ status: { authenticated: token !== "forged", user: {} } });
    expect((await forged).status).toBe(401);
    expect(await (await good).text()).not.toContain("good");
    expect(seen).toEqual(["/good"]);
    const metrics = await world.registry.metrics();
    expect(metrics).toContain('rouse_activator_reviews_total{review="token",outcome="no"} 1');
    expect(metrics).toContain('sandbox_router_authz_decisions_total{sandbox_namespace="-",decision="deny"} 1');
  });

  it("proxies to the live Pod of that name and ignores an address or UID of the client", async () => {
    await using world = await openActivatorWorld();
    await world.awake(
      "nova",
      httpProgram((_, answer) => answer.end("nova")),
    );
    const remembered = { "X-Sandbox-Pod-IP": "10.255.255.1", "X-Sandbox-UID": "of-one-before" };
    const response = await fetch(world.activator.proxyUrl, { headers: { ...id, ...remembered } });
    expect(await response.text()).toBe("nova");
  });

  it("waits until a readiness probe passes that it runs itself", async () => {
    await using world = await openActivatorWorld();
    let ready = false;
    const seen: (string | undefined)[] = [];
    world.kubelet.report("nova", { phase: "Running", podIP: "127.250.1.1" });
    const server = createServer((request, response) => {
      seen.push(request.url);
      response.writeHead(request.url === "/ready" && !ready ? 503 : 200).end("up");
    });
    await once(server.listen(sandboxPort, "127.250.1.1"), "listening");
    const readinessProbe = { httpGet: { path: "/ready", port: "web" } };
    const container = { name: "main", image: "program", ports: [{ name: "web", containerPort: sandboxPort }] };
    const podTemplate = { spec: { containers: [{ ...container, readinessProbe }] } };
    await world.asleep("nova", undefined, { podTemplate });
    const answer = fetch(`${world.activator.proxyUrl}/work`, { headers: id });
    await eventually(() => seen.length > 2);
    expect(seen).not.toContain("/work");
    ready = true;
    expect(await (await answer).text()).toBe("up");
    expect(seen.filter((url) => url === "/work")).toHaveLength(1);
    server.closeAllConnections();
    server.close();
  });

  it("answers 502 for an unknown sandbox in headers, and 404 for an unknown host", async () => {
    await using world = await openActivatorWorld();
    const response = await fetch(world.activator.proxyUrl, { headers: id });
    expect([response.status, await response.json()]).toEqual([
      502,
      { detail: "Could not connect to the backend sandbox: nova" },
    ]);
    using connection = await rawConnection(world.activator);
    connection.send(
      "GET / HTTP/1.1\r\nHost: no.such.sandbox.localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n",
    );
    expect(await connection.closed()).toMatch(/^HTTP\/1.1 404[\s\S]*Content-Type: text\/html[\s\S]*<!doctype html>/);
  });

  it("counts under the ecosystem's names and logs one line a request, without queries and credentials", async () => {
    await using world = await openActivatorWorld();
    await world.awake(
      "nova",
      httpProgram((_, answer) => answer.end("hello")),
    );
    const lines: string[] = [];
    const sink = new Writable({ write: (chunk, _, done) => done(void lines.push(String(chunk))) });
    const config = parseActivatorConfig([
      ...["--http-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address="],
      ...["--authz-mode=allow-all", "--allow-loopback-pod-ip"],
    ]);
    const parts = { client: world.api.client, clock: systemClock, registry: new Registry() };
    await using logged = await startActivator(config, { ...parts, log: createLogger("test", "info", sink) });
    const headers = { ...id, Authorization: "Bearer hush", "User-Agent": "a".repeat(999) };
    await (await fetch(`${logged.proxyUrl}/path?secret=1`, { headers })).text();
    await eventually(() => lines.some((line) => line.includes('"request"')));
    const entry = JSON.parse(lines.find((line) => line.includes('"request"')) ?? "");
    expect(entry).toMatchObject({
      ...{ method: "GET", path: "/path", status: 200, client_ip: "127.0.0.1", sandbox_id: "nova", bytes_out: 5 },
      ...{ logger: "sandbox-router.access", msg: "request", duration_ms: expect.any(Number) },
    });
    expect(entry.user_agent).toHaveLength(256);
    expect(lines.join("")).not.toMatch(/secret|hush/);
    const metrics = await (await fetch(`${logged.opsUrl}/metrics`)).text();
    expect(metrics).toContain('sandbox_router_requests_total{method="GET",code="200",sandbox_namespace="default"} 1');
    for (const name of [
      "sandbox_router_authz_decisions_total",
      "sandbox_router_build_info",
      "rouse_activator_held_slots",
      "rouse_activator_held_slots_limit",
      "rouse_activator_wakes_total",
    ]) {
      expect(metrics).toContain(`# HELP ${name} `);
    }
  });

  it("leaks no memory on a connection that served 1,000 requests", async () => {
    await using world = await openActivatorWorld();
    const ports = new Set<number | undefined>();
    const program = httpProgram((request, answer) => answer.end(String(ports.add(request.socket.remotePort).size)));
    await world.awake("nova", program);
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on("warning", listen);
    for (let at = 0; at < 1000; at += 1) await (await fetch(world.activator.proxyUrl, { headers: id })).text();
    process.off("warning", listen);
    expect(ports.size).toBe(1);
    expect(warnings).toEqual([]);
  }, 60_000);
});
