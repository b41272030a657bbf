import type { KeyObject } from "node:crypto";
import { Gauge, type Registry } from "prom-client";
import type { KubeClient } from "../../../kube/client/client.ts";
import { Subscribers } from "../../../lib/data/subscribers.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { type Running, startTask } from "../../../lib/process/lifecycle.ts";
import type { Backoff } from "../../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../../lib/queues/repeat-until-done.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { type Permit, signPermit } from "./permit.ts";
import { readSigningKey, tellUntilKnown } from "./signing-key.ts";

/** Permits Pods to be restored. */
export interface Signer {
  /** Undefined while the key could not be read. */
  sign(permit: Permit): string | undefined;
  /** Whether there is a key. Once there is one, it stays. */
  canSign(): boolean;
  /** Calls back once there is a key. */
  onKey(listener: () => void): Disposable;
}

export interface SigningOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** Where the key is. */
  readonly namespace: string;
}

const backoff: Backoff = { baseMs: 1_000, maxMs: 60_000, jitter: 0.2 };
/** An attempt that takes longer has failed. */
const attemptLimitMs = 10_000;
/** A new leader does not begin its work for so long without the key. Then it works without the memory of sandboxes. */
const patienceMs = 5_000;
/** How often the ConfigMap with the public key is looked at. Nodes keep their copies while it is missing. */
const tellAgainMs = 60_000;

/** Reads the key, and tries again until it has it. Meanwhile no memory is kept or restored, and all else goes on. */
export class Signing implements Signer {
  readonly #options: SigningOptions;
  readonly #listeners = new Subscribers();
  #key: KeyObject | undefined;

  constructor(options: SigningOptions) {
    this.#options = options;
    const canSign = () => this.canSign();
    new Gauge({
      name: "rouse_hibernation_signing_key",
      help: "1 if this replica is the leader and has the key that signs restores. All other replicas show 0. While the leader shows 0, no memory is kept or restored. With --hibernation only.",
      registers: [options.registry],
      collect() {
        this.set(canSign() ? 1 : 0);
      },
    });
  }

  sign(permit: Permit): string | undefined {
    return this.#key && signPermit(permit, this.#key);
  }

  canSign(): boolean {
    return this.#key !== undefined;
  }

  onKey(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  start(): Running {
    const { clock, log } = this.#options;
    return startTask("the signing of permits", async (signal) => {
      const onFailure = (err: unknown, failures: number): undefined => {
        log.warn(
          { err, failures },
          "cannot read or make the key that permits memory to be restored, or cannot tell nodes the public half of the key; no memory is kept or restored; retrying",
        );
      };
      await repeatUntilDone({ clock, signal, backoff, onFailure, round: () => this.#read(signal) });
      await this.#keepTold(signal);
    });
  }

  /** Resolves once there is a key, and after a while without one. */
  async untilBegun(signal: AbortSignal): Promise<void> {
    if (this.canSign()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    using _found = this.onKey(resolve);
    const late = new AbortController();
    const waited = this.#options.clock.sleep(patienceMs, AbortSignal.any([signal, late.signal])).catch(() => {});
    await Promise.race([promise, waited]);
    late.abort();
  }

  /** Tells nodes the public key again, if somebody has taken it away. Ends with the signal. */
  async #keepTold(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (this.#key && !signal.aborted) {
      await clock.sleep(tellAgainMs, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await tellUntilKnown(this.#options, this.#key, AbortSignal.any([signal, AbortSignal.timeout(attemptLimitMs)]));
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, "cannot publish the public key to nodes; retrying");
      }
    }
  }

  async #read(signal: AbortSignal): Promise<undefined> {
    this.#key = await readSigningKey(this.#options, AbortSignal.any([signal, AbortSignal.timeout(attemptLimitMs)]));
    this.#listeners.notify();
    this.#options.log.info("signing key loaded; memory can be kept");
  }
}
