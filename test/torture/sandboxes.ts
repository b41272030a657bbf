import type { SandboxSpec } from "../../api/kinds/sandbox.ts";
import { rawPort } from "../sleep/raw-workload.ts";
import { workloadPort } from "../sleep/workload.ts";

/** The port of the sandboxes for calls of gRPC, over HTTP/2 in clear text. */
export const grpcPort = 50_051;

/** Programs without faults. */
export const steady: readonly string[] = ["steady-0", "steady-1"];
/** Programs that reset, close without a response, and answer before they read. */
export const rude: readonly string[] = ["rude-0", "rude-1"];
/** Suspended after one idle second. */
export const sleepers: readonly string[] = ["sleeper-0", "sleeper-1", "sleeper-2", "sleeper-3"];
/** Suspended and resumed manually. */
export const paused: readonly string[] = ["paused-0"];

const podTemplate = {
  spec: {
    containers: [
      {
        name: "main",
        image: "workload",
        ports: [{ containerPort: workloadPort }, { containerPort: rawPort }, { containerPort: grpcPort }],
      },
    ],
    nodeName: "bed",
  },
};

export const specOf = (name: string): Partial<SandboxSpec> => ({
  podTemplate,
  service: true,
  autoResume: {},
  ...(sleepers.includes(name) && { autoSuspension: { inactivityTimeoutSeconds: 1 } }),
});

export const allSandboxes: readonly string[] = [...steady, ...rude, ...sleepers, ...paused];
