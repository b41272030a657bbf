import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { type SandboxSpec, sandboxType } from "../../api/kinds/sandbox.ts";
import { ApiUnreachable } from "../../kube/client/errors.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../support/eventually.ts";
import {
  type ActivatorWorld,
  heldRequests,
  httpProgram,
  openActivatorWorld,
  rawConnection,
  sandboxPort,
} from "../support/labs/activator-world.ts";

const nova = { namespace: "default", name: "nova" };

const ask = async ({ activator }: ActivatorWorld, headers: Record<string, string> = {}) => {
  const response = await fetch(activator.proxyUrl, { headers: { "X-Sandbox-ID": "nova", ...headers } });
  const { detail } = (await response.json()) as { detail: string };
  const of = (name: string) => response.headers.get(name);
  return { status: response.status, reason: of("x-rouse-reason"), retryAfter: of("retry-after"), detail };
};

const rawHead = (headers: Record<string, string>) =>
  ["GET / HTTP/1.1", "Host: nova.default.sandbox.localhost", "Connection: close"]
    .concat(
      Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      "\r\n",
    )
    .join("\r\n");

describe("a held request", () => {
  it("returns its slot and never reaches the sandbox if its client is killed", async () => {
    await using world = await openActivatorWorld(["--held-max-per-sandbox=1"]);
    const seen: (string | undefined)[] = [];
    await world.asleep("nova");
    const killed = connect({ port: world.activator.proxyPort, host: "127.0.0.1" });
    killed.on("error", () => {});
    killed.write("GET /killed HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\n\r\n");
    await eventually(async () => (await heldRequests(world)) === 1);
    expect(await ask(world)).toMatchObject({ status: 503, reason: "HoldLimitReached", retryAfter: "1" });
    killed.resetAndDestroy();
    await eventually(async () => (await heldRequests(world)) === 0);
    using polite = await rawConnection(world.activator);
    polite.send("GET /polite HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\nConnection: close\r\n\r\n");
    await eventually(async () => (await heldRequests(world)) === 1);
    const pod = await world.api.client.get(podType, nova);
    const program = httpProgram((request, response) => response.end(String(seen.push(request.url))));
    await using _late = await program(pod.status?.podIP ?? "");
    expect(await polite.closed()).toMatch(/^HTTP\/1.1 200/);
    expect(seen).toEqual(["/polite"]);
  });

  it("takes a slot for each 8 KiB of its head, until it is sent", async () => {
    await using world = await openActivatorWorld(["--held-max-per-sandbox=2"]);
    await world.asleep("nova");
    const large = rawHead({ "X-Notes": "n".repeat(15_000) });
    using first = await rawConnection(world.activator);
    first.send(large);
    await eventually(async () => (await heldRequests(world)) === 1);
    expect(await ask(world)).toMatchObject({ status: 503, reason: "HoldLimitReached" });
    const podIp = async () => {
      const { items } = await world.api.client.list(podType, { namespace: "default" });
      return items[0]?.status?.podIP ?? "";
    };
    await eventually(async () => (await podIp()) !== "");
    await using _program = await httpProgram((_, response) => response.end("awake"))(await podIp());
    expect(await first.closed()).toContain("awake");
    using second = await rawConnection(world.activator);
    second.send(large);
    expect(await second.closed()).toContain("awake");
  });

  it("returns its slot if its client ends the connection without a reset", async () => {
    await using world = await openActivatorWorld();
    await world.asleep("nova");
    const closed = connect({ port: world.activator.proxyPort, host: "127.0.0.1" });
    closed.write("GET / HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\n\r\n");
    await eventually(async () => (await heldRequests(world)) === 1);
    closed.destroy();
    await eventually(async () => (await heldRequests(world)) === 0, 1_000);
  });

  it("fails when its sandbox is deleted", async () => {
    await using world = await openActivatorWorld();
    await world.asleep("nova");
    const answer = ask(world);
    await eventually(async () => (await heldRequests(world)) === 1);
    await world.api.client.delete(sandboxType, nova);
    expect(await answer).toMatchObject({ status: 410, reason: "SandboxDeleted", detail: "Sandbox is deleted: nova" });
  });

  it("fails before its client's timeout, with the reason of the wait", async () => {
    await using world = await openActivatorWorld();
    await world.asleep("nova");
    expect(await ask(world, { "X-Sandbox-Timeout": "1.5" })).toEqual({
      status: 503,
      reason: "WakeTimedOut",
      retryAfter: "5",
      detail: `Sandbox is still waking: nova: waiting for port ${sandboxPort} to accept connections`,
    });
  });

  it("fails with the readiness probes as a reason of the wait, if its sandbox has some", async () => {
    await using world = await openActivatorWorld();
    world.kubelet.report("nova", { phase: "Running", podIP: "127.250.1.2" });
    const readinessProbe = { httpGet: { path: "/ready", port: sandboxPort } };
    const containers = [{ name: "main", image: "program", readinessProbe }];
    await world.asleep("nova", undefined, { podTemplate: { spec: { containers } } });
    const { detail } = await ask(world, { "X-Sandbox-Timeout": "1.5" });
    const probes = "its Pod's readiness probes to pass";
    expect(detail).toContain(`waiting for port ${sandboxPort} to accept connections and ${probes}`);
  });

  it("outlives an outage of the API server, with 100 others", async () => {
    await using world = await openActivatorWorld();
    await world.asleep(
      "nova",
      httpProgram((_, response) => response.end("awake")),
    );
    const { client } = world.api;
    const patch = client.patch;
    let refused = 0;
    // The activator has its own client, so its calls find no API server from here on.
    Object.assign(client, {
      patch: async (...args: Parameters<typeof patch>) => {
        const isWake = JSON.stringify(args[2]).includes("operatingMode");
        if (isWake && refused < 4) {
          refused += 1;
          throw new ApiUnreachable("connection refused");
        }
        return patch.apply(client, args);
      },
    });
    const texts = await Promise.all(
      Array.from({ length: 100 }, () =>
        fetch(world.activator.proxyUrl, { headers: { "X-Sandbox-ID": "nova" } }).then((response) => response.text()),
      ),
    );
    expect(new Set(texts)).toEqual(new Set(["awake"]));
    expect(refused).toBe(4);
  });

  it("waits for a suspension in progress, and wakes the sandbox after it", async () => {
    await using world = await openActivatorWorld();
    await world.awake(
      "nova",
      httpProgram((_, response) => response.end("awake")),
    );
    expect(await text(world)).toBe("awake");
    const body = { spec: { operatingMode: "Suspended" } };
    await world.api.client.patch(sandboxType, nova, { type: "merge", body });
    expect(await text(world)).toBe("awake");
    expect(world.kubelet.made("nova")).toBe(2);
  });

  it("gets a wait page that reloads after 1 s if and only if a person opened it", async () => {
    await using world = await openActivatorWorld();
    await world.asleep("nova");
    const headers = { "X-Sandbox-ID": "nova", Accept: "text/html,*/*;q=0.8", "Sec-Fetch-Mode": "navigate" };
    const response = await navigation(world, headers);
    expect(response).toMatch(/^HTTP\/1.1 503[\s\S]*X-Rouse-Reason: Waking/);
    expect(response).toContain('<meta http-equiv="refresh" content="1">');
    const counted = 'rouse_activator_wakes_total{trigger="request",outcome="waitPage"} 1';
    await eventually(async () => (await world.registry.metrics()).includes(counted));
  });
});

describe("a held request fails at once", () => {
  it.each<{ what: string; spec: Partial<SandboxSpec>; code: string; status: number }>([
    { what: "trigger is Never", spec: { autoResume: { trigger: "Never" } }, code: "WakeNotAllowed", status: 409 },
    { what: "it has expired", spec: { shutdownTime: "2020-01-01T00:00:00Z" }, code: "SandboxExpired", status: 410 },
  ])("when $what", async ({ spec, code, status }) => {
    await using world = await openActivatorWorld();
    await world.asleep("nova", undefined, spec);
    expect(await ask(world)).toMatchObject({ status, reason: code, retryAfter: null });
    expect((await world.sandbox("nova")).spec.operatingMode).toBe("Suspended");
  });

  it.each([
    { reason: "CrashLoopBackOff", exitCode: 3 },
    { reason: "InvalidImageName", exitCode: 1 },
    { reason: "StartError", exitCode: 128 },
  ])("when the program cannot run: $reason", async ({ reason, exitCode }) => {
    await using world = await openActivatorWorld();
    world.kubelet.report("nova", {
      phase: "Running",
      podIP: "127.9.9.9",
      containerStatuses: [
        {
          ...{ name: "main", ready: false, restartCount: 2, image: "program", imageID: "" },
          state: { waiting: { reason, message: "as it is" } },
          lastState: { terminated: { exitCode } },
        },
      ],
    });
    await world.asleep("nova");
    expect(await ask(world)).toMatchObject({
      status: 502,
      reason: "ContainerFailed",
      detail: `Sandbox program does not run: nova: container main: ${reason} (last exit code ${exitCode}): as it is`,
    });
  });

  it("when its Pod has ended", async () => {
    await using world = await openActivatorWorld();
    world.kubelet.report("nova", { phase: "Failed", reason: "Evicted", message: "the node is full" });
    await world.asleep("nova");
    expect(await ask(world)).toMatchObject({
      status: 502,
      reason: "PodEnded",
      detail: expect.stringContaining("Evicted"),
    });
  });

  it("when no node has room, if configured", async () => {
    await using world = await openActivatorWorld(["--unschedulable-grace=200ms"]);
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes" } as const;
    const lastTransitionTime = systemClock.now().toISOString();
    world.kubelet.report("nova", { phase: "Pending", conditions: [{ ...condition, lastTransitionTime }] });
    await world.asleep("nova");
    expect(await ask(world)).toMatchObject({ status: 503, reason: "Unschedulable", retryAfter: "10" });
  });
});

describe("a replica that exits", () => {
  it("serves new connections during drain-settle, and finishes requests in flight", async () => {
    await using world = await openActivatorWorld(["--drain-settle=300ms"]);
    let finish = () => {};
    const program = httpProgram((request, response) => {
      if (request.url === "/long") finish = () => response.end("the end");
      else response.end("short");
      response.flushHeaders();
    });
    await world.awake("nova", program);
    using long = await rawConnection(world.activator);
    long.send("GET /long HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\n\r\n");
    await long.until("200 OK");
    const drained = world.activator.drain();
    using late = await rawConnection(world.activator);
    late.send("GET /short HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\n\r\n");
    expect(await late.closed()).toMatch(/Connection: close[\s\S]*short/);
    finish();
    await drained;
    expect(long.received).toContain("the end");
  });

  it("is not ready, finishes requests in flight, and rejects held requests", async () => {
    await using world = await openActivatorWorld(["--shutdown-timeout=300ms"]);
    await world.asleep("nova");
    const holding = ask(world);
    await eventually(async () => (await heldRequests(world)) === 1);
    const drained = world.activator.drain();
    expect((await fetch(`${world.activator.opsUrl}/readyz`)).status).toBe(503);
    expect(await holding).toMatchObject({ status: 503, reason: "Draining", retryAfter: "1" });
    await drained;
    await expect(rawConnection(world.activator)).rejects.toThrow();
  });
});

async function text({ activator }: ActivatorWorld): Promise<string> {
  return (await fetch(activator.proxyUrl, { headers: { "X-Sandbox-ID": "nova" } })).text();
}

async function navigation({ activator }: ActivatorWorld, headers: Record<string, string>): Promise<string> {
  using connection = await rawConnection(activator);
  const lines = Object.entries({ Host: "any", Connection: "close", ...headers }).map((pair) => pair.join(": "));
  connection.send(`GET / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  return await connection.closed(); // before the connection is disposed of
}
