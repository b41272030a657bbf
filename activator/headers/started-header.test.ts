import { describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { type SandboxSpec, sandboxType } from "../../api/kinds/sandbox.ts";
import { memoryImageAnnotation } from "../../api/rules/keys.ts";
import type { Program } from "../../test/support/fakes/tiny-kubelet.ts";
import { EchoClient, startEchoServer } from "../../test/support/grpc/echo-service.ts";
import { openHttp2Client } from "../../test/support/http2-client.ts";
import {
  type ActivatorWorld,
  httpProgram,
  openActivatorWorld,
  rawConnection,
  sandboxPort,
} from "../../test/support/labs/activator-world.ts";
import { tcpPort, tcpProgram } from "../../test/support/labs/tcp-front-lab.ts";

const host = "nova.default.sandbox.localhost";
const hibernate: Partial<SandboxSpec> = { suspensionStrategy: { type: "Hibernate" } };
const open = () => openActivatorWorld(["--http2"]);

/** It claims the opposite, which is the activator's to say. */
const program = httpProgram(
  (_, response) => response.setHeader("X-Rouse-Started", "restored").end("ok"),
  (server) => {
    server.on("upgrade", (_, socket) => {
      const lines = "Connection: Upgrade\r\nUpgrade: websocket\r\nx-rouse-started: restored\r\n";
      socket.end(`HTTP/1.1 101 Go\r\n${lines}\r\n`);
    });
  },
);

async function started({ activator }: ActivatorWorld): Promise<string | null> {
  const response = await fetch(activator.proxyUrl, { headers: { "X-Sandbox-ID": "nova" } });
  expect(await response.text()).toBe("ok");
  return response.headers.get("x-rouse-started");
}

describe("the first response of a sandbox that is to hibernate", () => {
  it("says that it was started anew, to each request that waited for it, and to none after that", async () => {
    await using world = await open();
    await world.asleep("nova", program, hibernate);
    expect(await Promise.all([started(world), started(world)])).toEqual(["anew", "anew"]);
    expect([await started(world), await started(world)]).toEqual([null, null]);
  });

  it("says so in the answer to an upgrade", async () => {
    await using world = await open();
    await world.asleep("nova", program, hibernate);
    using client = await rawConnection(world.activator);
    client.send(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    const heard = await client.until("\r\n\r\n");
    expect(heard.match(/^x-rouse-started: .*$/gim)).toEqual(["X-Rouse-Started: anew"]);
  });

  it("says so over HTTP/2, in one field", async () => {
    await using world = await open();
    await world.asleep("nova", program, hibernate);
    using client = openHttp2Client(world.activator.proxyPort);
    const { fields } = await client.ask({ ":authority": host });
    const at = fields.indexOf("x-rouse-started");
    expect(fields[at + 1]).toBe("anew");
    expect(fields.lastIndexOf("x-rouse-started")).toBe(at);
    expect((await client.ask({ ":authority": host })).fields).not.toContain("x-rouse-started");
  });

  it("says so to a call of gRPC, in its first metadata", async () => {
    await using world = await open();
    await world.asleep("nova", (podIp) => startEchoServer(sandboxPort, podIp), hibernate);
    using client = new EchoClient(`127.0.0.1:${world.activator.proxyPort}`, host);
    expect((await client.call("Unary", ["one"])).begin?.get("x-rouse-started")).toEqual(["anew"]);
    expect((await client.call("Unary", ["two"])).begin?.get("x-rouse-started")).toEqual([]);
  });
});

describe("the first response of a Pod that asked for memory", () => {
  /** Has the Pod ask for memory before it gets its address, and the node tell what it got. */
  const askingFor =
    (world: ActivatorWorld, told: { readonly mode?: "Restored" | "Anew"; readonly podUID?: string }): Program =>
    async (podIp) => {
      const { client } = world.api;
      const at = { namespace: "default", name: "nova" };
      const annotations = { [memoryImageAnnotation]: "pod-1" };
      const { metadata } = await client.patch(podType, at, { type: "merge", body: { metadata: { annotations } } });
      const lastWake = { podUID: metadata.uid, ...told };
      const body = { status: { hibernation: told.mode && { lastWake } } };
      await client.patch(sandboxType, at, { type: "merge", body }, { subresource: "status" });
      return httpProgram(async (_, response) => {
        // The watch that shows this sandbox has shown the status before.
        await world.sandbox("later").catch(() => world.awake("later", program));
        await fetch(world.activator.proxyUrl, { headers: { "X-Sandbox-ID": "later" } });
        response.end("ok");
      })(podIp);
    };

  it.each([
    ["restored", { mode: "Restored" }],
    ["anew", { mode: "Anew" }],
    [null, {}],
    [null, { mode: "Restored", podUID: "an-earlier-pod" }],
  ] as const)("says %s where the node tells %j", async (how, told) => {
    await using world = await open();
    await world.asleep("nova", (podIp) => askingFor(world, told)(podIp), hibernate);
    expect(await started(world)).toBe(how);
    expect(await started(world)).toBeNull();
  });
});

it.each([
  ["X-Sum: 7\r\nX-Rouse-Started: anew\r\n", "X-Sum: 7\r\n"],
  ["x-rouse-started: anew\r\nX-Sum: 7\r\nX-More: 1\r\n", "X-Sum: 7\r\nX-More: 1\r\n"],
  ["X-Rouse-Started: anew\r\n", ""],
  ["", ""],
])("no trailer of a sandbox says how it was started: %j", async (trailers, kept) => {
  await using world = await open();
  const host = `${tcpPort}--nova--default.sandbox.localhost`;
  const answers = tcpProgram((socket) => {
    socket.on("data", () => {
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${trailers}\r\n`);
    });
  });
  await world.awake("nova", answers);
  using client = await rawConnection(world.activator);
  client.send(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect((await client.closed()).split("2\r\nok\r\n")[1]).toBe(`0\r\n${kept}\r\n`);
  using http2 = openHttp2Client(world.activator.proxyPort);
  const answer = await http2.ask({ ":authority": host, te: "trailers" });
  expect([answer.body, ...answer.trailers]).toEqual([
    "ok",
    ...kept
      .toLowerCase()
      .split(/: |\r\n/)
      .slice(0, -1),
  ]);
});

describe("no response says how it was started", () => {
  it.each([
    ["a sandbox without the strategy", {}],
    ["a sandbox with type Stop", { suspensionStrategy: { type: "Stop" } }],
  ] as const)("of %s", async (_, spec) => {
    await using world = await open();
    await world.asleep("nova", program, spec);
    expect(await started(world)).toBeNull();
  });

  it("of a sandbox that got the strategy while it ran", async () => {
    await using world = await open();
    await world.asleep("nova", program);
    expect(await started(world)).toBeNull();
    await world.api.client.patch(
      sandboxType,
      { namespace: "default", name: "nova" },
      { type: "merge", body: { spec: hibernate } },
    );
    expect(await started(world)).toBeNull();
  });
});
