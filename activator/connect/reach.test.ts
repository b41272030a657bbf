import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { ClientGone } from "../request.ts";
import type { Target } from "../sandbox/resolve.ts";
import { reach } from "./connect.ts";
import { beginUse, type ConnectRequest, holdForMs } from "./connect-request.ts";
import { DialError } from "./dial.ts";

const nova = aSandbox({}, { namespace: "default", uid: "u1" });
const pod = aPodOf(nova, { uid: "p1" }, { phase: "Running", podIP: "10.0.0.1" });

/** That Pod keeps its UID and gets another address. */
const moved = aPodOf(nova, { uid: "p1" }, { phase: "Running", podIP: "10.0.0.2" });

/** A connect request to a port that accepted before, without an idle connection. */
function given({ exists = true, synced = true, left = false, moves = false, isReplaced = false } = {}) {
  const seen: string[] = [];
  let sandboxNow = nova;
  const held = new Set<unknown>();
  let podNow = pod;
  const cluster = {
    ...{ synced, silentMs: () => 0, sandbox: () => (exists ? sandboxNow : undefined), podOf: () => podNow },
    sightsOf: () => ({ seenMs: 0, addressedMs: 0 }),
  };
  const deps = {
    ...{ clock: new FakeClock(), cluster },
    options: { proxyTimeoutMs: 900_000, allowLoopbackPodIp: false, unschedulableGraceMs: undefined, dialRetryMs: 0 },
    fences: { of: () => ({ reportedGeneration: 0, fenced: new Set() }) },
    prober: { acceptedMs: () => 1, forget() {} },
    connector: {
      idle: () => undefined,
      async connect(target: Target) {
        seen.push("dialled");
        if (moves) podNow = moved;
        if (isReplaced) {
          sandboxNow = aSandbox({}, { namespace: "default", uid: "u2" });
          throw new DialError(target, { timedOut: false });
        }
        return { target, socket: { destroy: () => void seen.push("closed") } };
      },
    },
    holdLimits: {
      lend() {
        seen.push("slot");
        return { [Symbol.dispose]: () => {} };
      },
    },
    holdDeadlines: { begin: (one: unknown) => held.add(one), over: (one: unknown) => held.delete(one) },
    holds: { join: async ({ to }: ConnectRequest) => void seen.push(`held for ${to.uid}`) },
  };
  const request = {
    ...{ to: { namespace: "default", name: "nova", port: 80 }, deps },
    client: { head: undefined, seenMs: 0, left, onLeave() {} },
    use: { begin: () => seen.push("used"), sentTo: (podUid: string) => seen.push(`sent to ${podUid}`) },
    observer: { held: () => ({ [Symbol.dispose]: () => {} }), dialFailed() {} },
  } as unknown as ConnectRequest;
  return { request, seen, held };
}

describe("a request to a port that accepted before", () => {
  it("takes a slot, dials, is marked as sent, and leaves no deadline", async () => {
    const { request, seen, held } = given();
    await reach(request);
    expect(seen).toEqual(["used", "slot", "dialled", "sent to p1"]);
    expect(held.size).toBe(0);
  });

  it("takes no slot if its client has left", async () => {
    const { request, seen } = given({ left: true });
    await expect(reach(request)).rejects.toThrow(ClientGone);
    expect(seen).toEqual(["used"]);
  });
});

it("a request is not sent to an address that its Pod has lost while the connection was awaited", async () => {
  const { request, seen } = given({ moves: true });
  await reach(request);
  expect(seen).toEqual(["used", "slot", "dialled", "closed", "held for u1"]);
});

it("a request whose dial fails waits for the sandbox that it used, and for none that takes its name", async () => {
  const { request, seen } = given({ isReplaced: true });
  await reach(request);
  expect(seen).toEqual(["used", "slot", "dialled", "held for u1"]);
});

it("a request to a sandbox that does not exist is not held", () => {
  const { request, seen } = given({ exists: false });
  expect(() => reach(request)).toThrow();
  expect(seen).toEqual([]);
});

it("a use does not begin before the view of the cluster is complete", () => {
  const { request, seen } = given({ synced: false });
  expect([beginUse(request), seen]).toEqual([false, []]);
});

it("a request for a sandbox that is not seen yet may be held for the default time", () => {
  expect(holdForMs(given({ exists: false }).request)).toBe(holdForMs(given().request));
});
