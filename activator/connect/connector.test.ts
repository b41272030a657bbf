import { expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { heapBytesOf } from "../../test/support/heap-bytes.ts";
import type { Target } from "../sandbox/resolve.ts";
import { newSocket } from "../socket/wire-socket.ts";
import { Connector, type Upstream } from "./connector.ts";

/** With probes of 64 KB, as one version of a Pod has them. */
function aTarget(): Target {
  const probes = Array.from({ length: 16 }, () => {
    const value = Buffer.alloc(4_000, "a").toString("latin1");
    return { port: 80, timeoutMs: 1_000, httpGet: { path: "/", httpHeaders: [{ name: "A", value }] } };
  });
  return { namespace: "default", podUid: "p1", ip: "10.0.0.1", port: 80, probes, young: true };
}

it("a connection to a Pod keeps no part of a version of the Pod", async () => {
  const socket = newSocket();
  const connector = new Connector(1_000, () => socket, new FakeClock());
  const kept: (Upstream | undefined)[] = [];
  const head = {
    method: "GET",
    protocol: "HTTP/1.1" as const,
    target: "/",
    host: "",
    headers: [],
    peer: "",
    upgrade: false,
  };
  const bytes = await heapBytesOf(() => {
    for (let count = 0; count < 100; count += 1) kept.push(connector.idle(aTarget(), head));
  });
  expect(bytes / kept.length).toBeLessThan(10_000);
  expect(kept[0]?.target).toEqual({ ...aTarget(), probes: [] });
});
