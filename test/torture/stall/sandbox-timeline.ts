import { podType } from "../../../api/kinds/core.ts";
import type { KubeObject, Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { sealOf } from "../../../api/rules/suspension.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { home } from "../../sleep/test-bed.ts";

/** The number of changes that are kept, of all sandboxes together. */
const changesMax = 400;

/** What became of the sandboxes that a person suspends: their modes, seals and Pods. It explains a request that waits. */
export class SandboxTimeline implements AsyncDisposable {
  readonly #lines: string[] = [];
  readonly #stack = new AsyncDisposableStack();
  readonly #beganMs = performance.now();

  constructor(client: KubeClient, names: readonly string[]) {
    const common = { client, namespace: home, indexes: {}, clock: systemClock, log: silentLogger };
    const sandboxes = this.#stack.use(startInformer<Sandbox>({ ...common, type: sandboxType }));
    const pods = this.#stack.use(startInformer<Pod>({ ...common, type: podType }));
    const add = (object: KubeObject | undefined, text: string) => {
      if (names.includes(object?.metadata.name ?? "")) this.#add(`${object?.metadata.name} ${text}`);
    };
    sandboxes.onChange(({ current, previous }) => add(current ?? previous, current ? sandboxText(current) : "is gone"));
    pods.onChange(({ current, previous }) => {
      const pod = current ?? previous;
      if (pod) add(pod, `Pod ${pod.metadata.uid} ${current ? podText(current) : "is gone"}`);
    });
  }

  text(): string {
    return this.#lines.join("\n");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  #add(text: string): void {
    this.#lines.push(`${((performance.now() - this.#beganMs) / 1_000).toFixed(3)} s: ${text}`);
    if (this.#lines.length > changesMax) this.#lines.shift();
  }
}

function sandboxText(sandbox: Stored<Sandbox>): string {
  const { generation, resourceVersion } = sandbox.metadata;
  const seal = sealOf(sandbox);
  const sealed = seal ? `sealed for ${seal.cause} (Pod ${seal.podUid})` : "not sealed";
  const conditions = ["Ready", "Suspended"].map((type) => {
    const { status, reason } = findCondition(sandbox.status?.conditions, type) ?? {};
    return `${type}=${status} ${reason}`;
  });
  return `${sandbox.spec.operatingMode}, generation ${generation}, version ${resourceVersion}, ${sealed}, ${conditions.join(", ")}`;
}

function podText({ status, metadata }: Stored<Pod>): string {
  const ready = findCondition(status?.conditions, "Ready")?.status;
  return `${status?.phase} at ${status?.podIP}, Ready=${ready}${metadata.deletionTimestamp ? ", terminating" : ""}`;
}
