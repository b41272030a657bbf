import { Counter, type Registry } from "prom-client";
import { type DrainCall, DrainRefused } from "./drain-client.ts";

const results = ["answered", "refused", "failed"] as const;

/** The same calls, counted by outcome. `refused`: no listener, as while an activator starts or after it has exited. */
export function countDrainCalls(call: DrainCall, registry: Registry): DrainCall {
  const calls = new Counter({
    name: "rouse_drain_calls_total",
    help: "Calls of the controller to the drain listeners of activators, by result: answered, refused (nothing listens at the address), or failed (any other error).",
    labelNames: ["result"],
    registers: [registry],
  });
  for (const result of results) calls.inc({ result }, 0);
  return async (address, path, body, signal) => {
    try {
      const answer = await call(address, path, body, signal);
      calls.inc({ result: "answered" });
      return answer;
    } catch (error) {
      // An aborted call is not a failure of the activator.
      if (!signal.aborted) calls.inc({ result: error instanceof DrainRefused ? "refused" : "failed" });
      throw error;
    }
  };
}
