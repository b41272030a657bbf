import { describe, expect, it } from "vitest";
import {
  small,
  smallStatesMax,
  whereFrozenPodsShow,
  whereGatedPodsShow,
  whereLateMemoryShows,
  whereMutationsShow,
  whereOldMemoryShows,
  wherePausedTunnelsShow,
  whereRefusalShows,
  whereRejectionShows,
  whereReplacementShows,
  whereSilenceShows,
  whereTrustShows,
  whereTunnelsShow,
  whereWakesAreSound,
  whereWakesShow,
} from "./configurations.ts";
import { explore } from "./explore.ts";
import { handshake } from "./handshake.ts";

/** For a mutation, whose counterexample may need more than a small configuration has. */
const statesMax = 150_000;
const limit = { timeout: 120_000 };

describe("no Pod is deleted under a request, no gone Pod is dialled, no suspension is lost, no wait is endless", () => {
  it.each(small)("when $about", limit, ({ limits }) => {
    const { counterexample, states } = explore(handshake(limits), smallStatesMax);
    expect(counterexample).toBeUndefined();
    expect(states).toBeGreaterThan(1_000);
  });
});

describe("each rule of the handshake is needed", () => {
  const sealed = "a Pod with a request is sealed for inactivity";
  const dials = "the address of a deleted Pod is dialled";

  it.each([
    { mutation: "a seal without the version of the sandbox", why: sealed, steps: 8 },
    { mutation: "observed only asks", why: sealed, steps: 6 },
    { mutation: "no promises", why: dials, steps: 13 },
    { mutation: "Pods listed before Sandboxes", why: dials, steps: 16 },
    { mutation: "a seal that is forgotten when it is removed", why: dials, steps: 17 },
  ] as const)("$mutation: $why", limit, ({ mutation, why, steps }) => {
    const { counterexample } = explore(handshake(whereMutationsShow, mutation), statesMax);
    expect(counterexample?.why).toBe(why);
    expect(counterexample?.trace, counterexample?.trace.join("\n")).toHaveLength(steps);
  });

  it.each([
    { mutation: "a tunnel that is left open", why: "a Pod with a tunnel is deleted, and the tunnel was not closed" },
    { mutation: "a byte that is not reported", why: sealed },
    { mutation: "unanswered data that observed does not count", why: sealed },
  ] as const)("$mutation: $why", limit, ({ mutation, why }) => {
    const { counterexample } = explore(handshake(whereTunnelsShow, mutation), statesMax);
    expect(counterexample?.why).toBe(why);
  });

  it("unanswered data that a promise does not count: its Pod is deleted during the work", limit, () => {
    const mutation = "unanswered data that a promise does not count";
    const { counterexample } = explore(handshake(wherePausedTunnelsShow, mutation), statesMax);
    expect(counterexample?.why).toBe("a Pod with a tunnel is deleted, and the tunnel was not closed");
  });

  it.each([
    { mutation: "a silent activator that counts for five minutes", why: sealed },
    {
      mutation: "a sealed Pod that waits for a silent activator without end",
      why: "no further step ends all waits",
    },
  ] as const)("$mutation: $why", limit, ({ mutation, why }) => {
    const { counterexample } = explore(handshake(whereSilenceShows, mutation), statesMax);
    expect(counterexample?.why).toBe(why);
  });

  it("a fence that is not reported: a request waits without end", limit, () => {
    const { counterexample } = explore(handshake(whereReplacementShows, "a fence that is not reported"), statesMax);
    expect(counterexample?.why).toBe("no further step ends all waits");
  });

  it("a store that is trusted about a deleted Pod: a manual suspension is undone before it is complete", limit, () => {
    const { counterexample } = explore(handshake(whereTrustShows, "a store that is trusted"), statesMax);
    expect(counterexample?.why).toBe("a manual suspension is undone before it is complete");
  });

  it("a rejected seal that ends every suspension: a manual suspension is undone before it is complete", limit, () => {
    const mutation = "a rejected seal that ends every suspension";
    const { counterexample } = explore(handshake(whereRejectionShows, mutation), statesMax);
    expect(counterexample?.why).toBe("a manual suspension is undone before it is complete");
  });

  it.each([
    {
      mutation: "a refusal that is not asked for before the seal",
      why: "a sandbox that would rather stay awake loses its memory for inactivity",
    },
    { mutation: "a refusal that ends a manual suspension", why: "no further step ends all waits" },
  ] as const)("$mutation: $why", limit, ({ mutation, why }) => {
    const { counterexample } = explore(handshake(whereRefusalShows, mutation), statesMax);
    expect(counterexample?.why).toBe(why);
  });

  it.each([
    {
      mutation: "a late capture that counts",
      limits: whereLateMemoryShows,
      why: "a Pod goes on from memory that was captured during a deletion",
    },
    {
      mutation: "memory that is not given up",
      limits: whereOldMemoryShows,
      why: "a Pod goes on from memory that is older than the last life",
    },
    {
      mutation: "a frozen Pod that may lose its seal",
      limits: whereFrozenPodsShow,
      why: "no further step ends all waits",
    },
    {
      mutation: "an image that is confirmed before its Pod is made",
      limits: whereWakesShow,
      sound: whereWakesAreSound,
      why: "a Pod goes on from memory that is older than the last life",
    },
    {
      mutation: "a gated Pod that stays",
      limits: whereGatedPodsShow,
      why: "no further step ends all waits",
    },
  ] as const)("$mutation: $why", limit, ({ mutation, limits, why, ...others }) => {
    expect(explore(handshake(limits, mutation), statesMax).counterexample?.why).toBe(why);
    const sound = "sound" in others ? others.sound : limits;
    expect(explore(handshake(sound), smallStatesMax).counterexample).toBeUndefined();
  });

  it("describes a counterexample", () => {
    const { counterexample } = explore(handshake(whereMutationsShow, "observed only asks"), statesMax);
    expect(counterexample?.trace).toEqual([
      "controller 0 writes Suspended, by inactivity",
      "controller 0 lists the activators (observed, Pod 1)",
      "controller 0 asks activator 0 (observed, Pod 1): 0 in flight",
      "activator 0 takes request 0",
      "activator 0 counts, and dials Pod 1 for, request 0",
      "controller 0 seals pod-1, Inactivity",
    ]);
  });
});
