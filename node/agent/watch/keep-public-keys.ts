import { join } from "node:path";
import { publicKeysName, publicKeysPart } from "../../../api/between-programs/memory-keys.ts";
import { type ConfigMap, configMapType } from "../../../api/kinds/core.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { followObject } from "../../../kube/informer/follow-object.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { aborted, firstFailure, type Running, startTask } from "../../../lib/process/lifecycle.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { NotifiableWait } from "../../../lib/time/notifiable-wait.ts";
import type { Files } from "../doors/files.ts";

export interface KeepPublicKeysOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly files: Pick<Files, "read" | "replace">;
  /** The namespace of the controller. */
  readonly namespace: string;
  readonly storeRoot: string;
}

/** Where the shim looks for the keys whose signatures count. */
export const publicKeysPath = (storeRoot: string): string => join(storeRoot, publicKeysPart);

const keyBytes = 32;
const base64 = /^[A-Za-z0-9+/]{43}=$/;

/** Whether the shim finds a key in the text: 32 bytes in base64 on a line of their own. */
export const hasPublicKey = (text: string | undefined): boolean =>
  (text ?? "")
    .split("\n")
    .map((line) => line.trim())
    .some((line) => base64.test(line) && Buffer.from(line, "base64").length === keyBytes);

/** A write to the disk that failed is tried again. */
const againMs = 10_000;

/**
 * Keeps a copy of the controller's public keys on the node, for the shim. While the ConfigMap is missing, or has no key, the copy stays: else who
 * deletes or empties it would take all memory.
 */
export function keepPublicKeys(options: KeepPublicKeysOptions): Running {
  const { client, clock, files, log, namespace, storeRoot } = options;
  const stack = new AsyncDisposableStack();
  const name = { namespace, name: publicKeysName };
  const keys = stack.use(followObject<ConfigMap>({ client, clock, log, type: configMapType, name }));
  const change = new NotifiableWait(clock);
  stack.use(keys.onChange(() => change.notify()));
  const path = publicKeysPath(storeRoot);
  const task = stack.use(
    startTask("the copy of the public keys", async (signal) => {
      await Promise.race([keys.synced, aborted(signal)]);
      while (!signal.aborted) {
        const text = keys.store.list()[0]?.data?.[publicKeysPart];
        try {
          if (text !== undefined && hasPublicKey(text) && (await files.read(path)) !== text) {
            await files.replace(path, text);
          }
        } catch (error) {
          log.warn({ err: error }, "cannot copy the public keys of the controller to the node; retrying in 10 seconds");
        }
        await change.wait(againMs, signal);
      }
    }),
  );
  const started = stack.move();
  return { failed: firstFailure(keys, task), [Symbol.asyncDispose]: () => started.disposeAsync() };
}
