import { keyFor, type Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { Attributes, Span } from "../../lib/tracing/tracer.ts";
import type { View } from "../own-writes.ts";
import { creatorAttribute } from "../traces.ts";
import { recordedPodName } from "./find-pod.ts";

export const sandboxAttributes = (sandbox: Stored<Sandbox>): Attributes => ({
  "sandbox.name": sandbox.metadata.name,
  "sandbox.namespace": sandbox.metadata.namespace ?? "",
  ...creatorAttribute(sandbox),
});

/** The parts of a pass that are spans of their own. */
export interface PassTrace {
  claims(work: () => Promise<void>): Promise<void>;
  /** Its span has an event with the resulting Pod, and whether it is new. */
  pod(work: () => Promise<void>): Promise<void>;
}

export function tracePass(span: Span, sandbox: Stored<Sandbox>, pods: View<Pod>): PassTrace {
  const { namespace, name } = sandbox.metadata;
  const readPod = () => pods.get(keyFor(namespace, recordedPodName(sandbox) || name));
  return {
    claims: (work) => span.during("reconcilePVCs", work),
    pod: (work) =>
      span.during("reconcilePod", async (child) => {
        if (!child.headers) return work();
        const before = readPod();
        await work();
        const pod = readPod();
        if (!pod) return;
        const seen = before?.metadata.uid === pod.metadata.uid ? "ExistingPodStatusObserved" : "NewPodStatusObserved";
        child.event(seen, { "pod.Name": pod.metadata.name, "pod.Phase": pod.status?.phase ?? "" });
      }),
  };
}
