import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { countDrainCalls } from "./count-drain-calls.ts";
import { DrainRefused } from "./drain-client.ts";

it("calls of activators are counted by outcome, except those that were aborted", async () => {
  const registry = new Registry();
  const failures: (Error | undefined)[] = [undefined, new DrainRefused("closed"), new Error("late"), new Error("gone")];
  const call = countDrainCalls(async () => {
    const failure = failures.shift();
    if (failure) throw failure;
    return {};
  }, registry);
  const address = { host: "127.0.0.1", port: 1 };
  const never = new AbortController().signal;
  for (let at = 0; at < 3; at += 1) await call(address, "/", {}, never).catch(() => {});
  await expect(call(address, "/", {}, AbortSignal.abort())).rejects.toThrow("gone");
  const text = await registry.metrics();
  for (const result of ["answered", "refused", "failed"]) {
    expect(text).toContain(`rouse_drain_calls_total{result="${result}"} 1`);
  }
});
