import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { NewEvent } from "../../kube/events/event-recorder.ts";
import { type PortShortage, shortageText } from "./port-shortages.ts";

const about = { type: "Warning", action: "ListeningForSandbox" } as const;

/** What an event tells of a sandbox of whose ports some have none of the activators'. */
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
