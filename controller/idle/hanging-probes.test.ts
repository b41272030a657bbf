import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { eventType, namespaceType } from "../../api/kinds/core.ts";
import { type AutoSuspension, sandboxType } from "../../api/kinds/sandbox.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { openSleepLab, type SleepLab } from "../../test/support/labs/sleep-lab.ts";

/** Takes connections and never answers. */
async function openHole() {
  const open = new Set<Socket>();
  let most = 0;
  const server = createServer((socket) => {
    open.add(
      socket
        .resume()
        .on("error", () => {})
        .on("close", () => open.delete(socket)),
    );
    most = Math.max(most, open.size);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    most: () => most,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function openPolite() {
  const server = createHttpServer((_request, response) => response.end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

const make = ({ client }: SleepLab, namespace: string, name: string, autoSuspension: AutoSuspension) =>
  client.create(sandboxType, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { namespace, name },
    spec: {
      podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }], nodeName: "node-1" } },
      autoSuspension,
    },
  });

const notesOf = async ({ client }: SleepLab, reason: string) => {
  const { items } = await client.list(eventType, { namespace: "crowd" });
  return items.filter((event) => event.reason === reason).map(({ note }) => note);
};

it("busy probes that hang delay no sandbox of another namespace, and a few at a time", {
  timeout: 120_000,
}, async () => {
  await using lab = await openSleepLab();
  await using hole = await openHole();
  await using polite = await openPolite();
  const clock = new FakeClock(systemClock.now());
  await using _controller = await lab.startController({ clock });
  /** Lets seconds go by until something holds, and returns whether it does: a busy machine needs more of them. */
  const pass = async (seconds: number, until: () => boolean | Promise<boolean> = () => false) => {
    for (let second = 0; second < seconds; second += 1) {
      if (await until()) return true;
      await clock.advance(1_000);
      await systemClock.sleep(5);
    }
    return until();
  };
  await lab.client.create(namespaceType, { apiVersion: "v1", kind: "Namespace", metadata: { name: "crowd" } });
  const hanging = { inactivityTimeoutSeconds: 1, busyProbe: { httpGet: { port: hole.port } } };
  await Promise.all(Array.from({ length: 120 }, (_, index) => make(lab, "crowd", `hangs-${index}`, hanging)));
  expect(await pass(60, () => hole.most() > 0)).toBe(true);

  await make(lab, "default", "nova", { inactivityTimeoutSeconds: 10 });
  await make(lab, "default", "polite", {
    inactivityTimeoutSeconds: 10,
    busyProbe: { httpGet: { port: polite.port } },
  });
  await lab.untilReady();
  const sleeps = async (name: string) =>
    (await lab.client.get(sandboxType, { namespace: "default", name })).spec.operatingMode === "Suspended";
  // A probe that hangs ends after five seconds: behind the whole crowd, eight at a time, it takes 75 seconds.
  expect(await pass(60, async () => (await sleeps("nova")) && (await sleeps("polite")))).toBe(true);
  // Eight at a time, and as many whose end is not heard of yet.
  expect(hole.most()).toBeLessThanOrEqual(16);
  const note = "busy probe got no response: the sandbox counts as busy for at most 1h0m0s";
  // Events are written as time passes.
  const isReported = async () => (await notesOf(lab, "BusyProbeUnanswered")).includes(note);
  expect(await pass(60, isReported)).toBe(true);
});
