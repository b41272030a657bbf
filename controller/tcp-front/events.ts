import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { NewEvent } from "../../kube/events/event-recorder.ts";
import { type PortShortage, shortageText } from "./port-shortages.ts";

const about = { type: "Warning", action: "ListeningForSandbox" } as const;

/** The event about a sandbox that lacks activator ports for some of its ports. */
export const tooFewPorts = (regarding: Sandbox, shortage: PortShortage): NewEvent => ({
  ...about,
  regarding,
  reason: shortage.limitedBy === "range" ? "TcpFrontPortsExhausted" : "TcpFrontPortLimitExceeded",
  note: shortageText(shortage),
});

export const notWritten = (regarding: Sandbox, why: string): NewEvent => ({
  ...about,
  regarding,
  reason: "TcpFrontNotWritten",
  note: `could not write the EndpointSlice of its Service: ${why}`,
});
