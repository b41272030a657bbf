import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxPatch } from "../../../controller/suspension/handshake/patches.ts";
import type { FakeClock } from "../../../lib/time/clock.ts";
import { aSandbox } from "../builders/builders.ts";

const writeMs = 3;
const podStartMs = 15;

/** The API of one sandbox, with consistent reads. */
export class LabApi {
  sandbox: Stored<Sandbox> = aSandbox({ operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 1 } });
  podUid: string | undefined = "pod-1";
  podSinceMs: number | undefined = 0;
  readonly clock: FakeClock;
  readonly #watchers: (() => void)[] = [];
  #pods = 1;

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  watch(onChange: () => void): void {
    this.#watchers.push(onChange);
  }

  /** Resolves with whether the version was still current. */
  async patch({ metadata, spec }: SandboxPatch): Promise<boolean> {
    await this.clock.sleep(writeMs);
    const { resourceVersion, generation = 0, annotations } = this.sandbox.metadata;
    if (metadata.resourceVersion !== resourceVersion) return false;
    const merged = Object.entries({ ...annotations, ...metadata.annotations }).filter(([, value]) => value !== null);
    const changed = spec !== undefined && spec.operatingMode !== this.sandbox.spec.operatingMode;
    this.#store({
      ...this.sandbox,
      metadata: {
        ...this.sandbox.metadata,
        annotations: Object.fromEntries(merged) as Readonly<Record<string, string>>,
        generation: generation + (changed ? 1 : 0),
      },
      spec: { ...this.sandbox.spec, ...spec },
    });
    return true;
  }

  async createPod(): Promise<void> {
    await this.clock.sleep(podStartMs);
    this.#pods += 1;
    this.podUid = `pod-${this.#pods}`;
    this.podSinceMs = this.clock.ticksMs();
    this.#notify();
  }

  deletePod(uid: string): void {
    if (this.podUid !== uid) return;
    this.podUid = undefined;
    this.podSinceMs = undefined;
    this.#notify();
  }

  #store(sandbox: Stored<Sandbox>): void {
    const resourceVersion = String(Number(this.sandbox.metadata.resourceVersion) + 1);
    this.sandbox = { ...sandbox, metadata: { ...sandbox.metadata, resourceVersion } };
    this.#notify();
  }

  #notify(): void {
    for (const onChange of this.#watchers) onChange();
  }
}
