import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { createLogger } from "../../lib/log/log.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { aBetaSandbox, anAlphaSandbox, core } from "../../test/support/builders/versions.ts";
import { aStored } from "../../test/support/fakes/scripted-collection.ts";
import {
  callWebhook,
  certificateSecretOf,
  openWebhookApi,
  reviewOf,
  secretText,
} from "../../test/support/labs/webhook-world.ts";
import { parseControllerConfig } from "../config/config.ts";
import { startController } from "../start.ts";
import { Converters } from "./converters.ts";
import { PeerShares, podAddressIndexes } from "./peer-shares.ts";

const small = Buffer.from(JSON.stringify(reviewOf([anAlphaSandbox({ replicas: 0 })], core.beta)));
const limits = {
  ...{ smallBytesMax: 65_536, smallPartsMax: 2_048, smallNestingMax: 200 },
  ...{ processesForSmall: 1, processesForLarge: 1, processesOfPeer: 1, forgivenPerSecond: 10, usedMsMax: 10_000 },
  ...{ heapMegabytesForSmall: 64, heapMegabytesForLarge: 64 },
  ...{ waitingMax: 99, waitingOfPeerMax: 99, waitMs: 20_000, convertMs: 10_000 },
};

function openConverters() {
  const clock = new FakeClock();
  const converters = new Converters(limits, clock);
  const order: string[] = [];
  const convert = (peer: string, body = small) =>
    converters.convert({
      ...{ body, peer, signal: new AbortController().signal },
      taken: () => void order.push(peer),
    });
  return { clock, order, convert, [Symbol.asyncDispose]: () => converters[Symbol.asyncDispose]() };
}

describe("small reviews that wait", () => {
  it("are converted first for an address of no Pod, even behind earlier reviews", async () => {
    await using world = openConverters();
    const pods = ["namespace/a", "namespace/b", "namespace/c"];
    await Promise.all([...pods, ...pods, "10.0.0.1", "10.0.0.1"].map((peer) => world.convert(peer)));
    expect(world.order.slice(0, 3)).toEqual(["namespace/a", "10.0.0.1", "10.0.0.1"]);
  });

  it("are converted for whom has used less of the time, not in turns", async () => {
    await using world = openConverters();
    const all = ["namespace/a", "namespace/a", "namespace/b", "namespace/b"].map((peer) => world.convert(peer));
    await world.clock.advance(600);
    await Promise.all(all);
    expect(world.order).toEqual(["namespace/a", "namespace/b", "namespace/b", "namespace/a"]);
  });

  it("do not wait for one of as many bytes that has many fields", async () => {
    await using world = openConverters();
    const fields = Array.from({ length: 2_100 }, (_, at) => `"k${at}":0`).join();
    const many = Buffer.from(`{${fields}}`);
    // Both begin at once: they have different processes.
    const both = Promise.all([world.convert("namespace/a", many), world.convert("namespace/b")]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(world.order).toEqual(["namespace/a", "namespace/b"]);
    await both;
  });
});

describe("the share of a peer", () => {
  const pods = (...all: readonly Stored<Pod>[]) => ({
    by: (_: string, ip: string) => all.filter((pod) => podAddressIndexes.address(pod).includes(ip)),
  });
  const aPod = (namespace: string, status: Pod["status"], spec: Partial<Pod["spec"]> = {}): Stored<Pod> => {
    const { metadata } = aStored("pod", "1");
    return { metadata: { ...metadata, namespace }, spec: { containers: [], ...spec }, ...(status && { status }) };
  };

  it("is that of all Pods of its namespace, by each of their addresses", () => {
    const shares = new PeerShares();
    expect(shares.of("10.1.0.1")).toBe("10.1.0.1");
    const one = aPod("tenant", { podIP: "10.1.0.1", podIPs: [{ ip: "10.1.0.1" }, { ip: "fd00::1" }] });
    shares.follow(pods(one, aPod("tenant", { podIP: "10.1.0.2" })));
    for (const address of ["10.1.0.1", "::ffff:10.1.0.1", "FD00::1", "10.1.0.2"]) {
      expect(shares.of(address)).toBe("namespace/tenant");
    }
  });

  it.each([
    { whose: "is nobody's", pod: aPod("tenant", { podIP: "10.1.0.9" }) },
    { whose: "is that of a node", pod: aPod("kube-system", { podIP: "10.1.0.1" }, { hostNetwork: true }) },
    { whose: "a Pod had that has ended", pod: aPod("tenant", { podIP: "10.1.0.1", phase: "Succeeded" }) },
  ])("is its own where its address $whose", ({ pod }) => {
    const shares = new PeerShares();
    shares.follow(pods(pod));
    expect(shares.of("::ffff:10.1.0.1")).toBe("10.1.0.1");
  });

  it("is that of its namespace at the webhook of a controller", async () => {
    await using api = await openWebhookApi();
    const pod = { metadata: { namespace: "default", name: "a" }, spec: { containers: [{ name: "main", image: "x" }] } };
    await api.client.create(podType, pod);
    const body = { status: { podIP: "127.0.0.9", podIPs: [{ ip: "127.0.0.9" }] } };
    const at = { namespace: "default", name: "a" };
    await api.client.patch(podType, at, { type: "merge", body }, { subresource: "status" });
    const lines: string[] = [];
    const log = createLogger("test", "info", { write: (line: string) => void lines.push(line) });
    const flags = ["--metrics-bind-address=0", "--health-probe-bind-address=0", "--webhook-port=0"];
    const config = parseControllerConfig([...flags, "--leader-election-namespace=agent-sandbox-system"]);
    const parts = { client: api.client, clock: systemClock, log, registry: new Registry(), identity: "a" };
    await using controller = await startController(config, parts);
    await controller.synced;
    const ca = secretText(await certificateSecretOf(api.client), "ca.crt");
    const broken = { ...aBetaSandbox(), spec: "none" };
    const { webhookPort: port = 0 } = controller;
    await callWebhook({ port, ca, body: reviewOf([broken], core.alpha), localAddress: "127.0.0.9" });
    expect(lines.find((line) => line.includes("conversion review failed"))).toContain('"peer":"namespace/default"');
  });
});
