import type { Sandbox } from "../../api/sandbox.ts";
import type { Happening } from "../../kube/event-recorder.ts";

const about = { type: "Warning", action: "ListeningForSandbox" } as const;

/** What an event tells of a sandbox whose name leads nowhere because every port of the activators is in use or rests. */
export const exhausted = (regarding: Sandbox, ports: number): Happening => ({
  ...about,
  regarding,
  reason: "TcpFrontPortsExhausted",
  note: `no port of the activators is free for ${ports} of its ports; they cannot be reached by the Service's name`,
});

export const notWritten = (regarding: Sandbox, why: string): Happening => ({
  ...about,
  regarding,
  reason: "TcpFrontNotWritten",
  note: `the EndpointSlice of its Service could not be written: ${why}`,
});
