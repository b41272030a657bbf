import { expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { type ConnectRequest, commit } from "./connect-request.ts";
import type { Upstream } from "./connector.ts";

const target = { namespace: "default", podUid: "p1", ip: "10.0.0.1", port: 80, probes: [], young: false };

it("a connection to a Pod that may not be sent to is closed, unless other calls use it", () => {
  let closed = 0;
  const socket = { destroy: () => (closed += 1) } as unknown as Upstream["socket"];
  // Not seen yet, so nothing may be sent to any Pod.
  const deps = { clock: new FakeClock(), cluster: { silentMs: () => 0, synced: false }, options: {} };
  const connectRequest = { to: {}, client: {}, deps, use: {} } as unknown as ConnectRequest;
  expect(commit({ target, socket, isShared: true }, connectRequest)).toBe(false);
  expect(closed).toBe(0);
  expect(commit({ target, socket }, connectRequest)).toBe(false);
  expect(closed).toBe(1);
});
