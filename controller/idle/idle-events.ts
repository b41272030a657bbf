import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { NewEvent } from "../../kube/events/event-recorder.ts";
import { goDuration } from "../../lib/time/go-duration.ts";

/** The event about a sandbox that was idle for this long. */
export const idled = (regarding: Sandbox, forMs: number): NewEvent => ({
  regarding,
  type: "Normal",
  reason: "SandboxIdle",
  action: "Suspending",
  note: `idle for ${goDuration(forMs)}`,
});

/** Its workload answered neither an activator nor the controller, as where a NetworkPolicy keeps both out. */
export const unanswered = (regarding: Sandbox, limitSeconds: number): NewEvent => ({
  regarding,
  type: "Warning",
  reason: "BusyProbeUnanswered",
  action: "Suspending",
  note: `busy probe got no response: the sandbox counts as busy for at most ${goDuration(limitSeconds * 1000)}`,
});

export const woken = (regarding: Sandbox, port: number): NewEvent => ({
  regarding,
  type: "Normal",
  reason: "SandboxWoken",
  action: "Waking",
  note: `woken through port ${port}`,
});
