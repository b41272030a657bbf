import { describe, expect, it } from "vitest";
import type { Stored } from "../../api/meta.ts";
import { type Sandbox, sandboxType } from "../../api/sandbox.ts";
import { systemClock } from "../../lib/clock.ts";
import { aSandbox } from "../../test/support/activator-world.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { Waker } from "./waker.ts";

const rate = { perSecond: 1, burst: 2 };
const never = new AbortController().signal;

async function asleep(create: (sandbox: Sandbox) => Promise<Stored<Sandbox>>, name = "nova") {
  return create(aSandbox(name, { operatingMode: "Suspended" }));
}

describe("a wake", () => {
  it("is one patch for all who ask at once, and one of them is told that it is theirs", async () => {
    await using api = await openMemoryApi();
    const sandbox = await asleep((each) => api.client.create(sandboxType, each));
    const waker = new Waker(api.client, rate, systemClock);
    const wakes = await Promise.all(Array.from({ length: 50 }, () => waker.wake(sandbox, never)));
    expect(wakes.filter(({ mine }) => mine)).toHaveLength(1);
    const now = await api.client.get(sandboxType, { namespace: "default", name: "nova" });
    expect(now.spec.operatingMode).toBe("Running");
    expect(now.metadata.generation).toBe(2);
  });

  it("changes nothing where somebody else changed the sandbox since it was seen", async () => {
    await using api = await openMemoryApi();
    const seen = await asleep((each) => api.client.create(sandboxType, each));
    await api.client.replace(sandboxType, { ...seen, spec: { ...seen.spec, shutdownPolicy: "Delete" } });
    const waker = new Waker(api.client, rate, systemClock);
    expect(await waker.wake(seen, never)).toEqual({ mine: true, patchedMs: undefined, answer: undefined });
    const now = await api.client.get(sandboxType, { namespace: "default", name: "nova" });
    expect(now.spec.operatingMode).toBe("Suspended");
  });

  it("goes on for the others when one who asked leaves", async () => {
    await using api = await openMemoryApi();
    const sandbox = await asleep((each) => api.client.create(sandboxType, each));
    const waker = new Waker(api.client, rate, systemClock);
    const leaving = new AbortController();
    const left = waker.wake(sandbox, leaving.signal);
    const stayed = waker.wake(sandbox, never);
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    expect((await stayed).patchedMs).toEqual(expect.any(Number));
  });

  it("begins anew for whoever comes when all who waited have left", async () => {
    await using api = await openMemoryApi();
    const sandbox = await asleep((each) => api.client.create(sandboxType, each));
    const waker = new Waker(api.client, rate, systemClock);
    const leaving = new AbortController();
    const left = waker.wake(sandbox, leaving.signal);
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await waker.wake(sandbox, never);
    const now = await api.client.get(sandboxType, { namespace: "default", name: "nova" });
    expect(now.spec.operatingMode).toBe("Running");
  });

  it("is refused when its namespace wakes more than it may", async () => {
    await using api = await openMemoryApi();
    const waker = new Waker(api.client, { perSecond: 0.01, burst: 1 }, systemClock);
    const create = (each: Sandbox) => api.client.create(sandboxType, each);
    await waker.wake(await asleep(create, "first"), never);
    await expect(waker.wake(await asleep(create, "second"), never)).rejects.toMatchObject({ code: "WakeRateLimited" });
  });
});
