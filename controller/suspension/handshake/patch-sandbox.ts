import { keyOf, type Stored } from "../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isConflict } from "../../../kube/client/errors.ts";
import type { OwnWrites } from "../../own-writes.ts";
import type { SandboxPatch } from "./patches.ts";

interface SandboxWrites {
  readonly client: KubeClient;
  readonly sandboxes: OwnWrites<Sandbox>;
}

/**
 * Whether the write was made. After a conflict, the other writer's result is in view.
 *
 * @throws NotKept when the API server accepts it and does not keep it, or what `KubeClient` throws.
 */
export async function patchSandbox(
  sandbox: Stored<Sandbox>,
  body: SandboxPatch,
  { client, sandboxes }: SandboxWrites,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace, name } = sandbox.metadata;
  const key = keyOf(sandbox);
  try {
    await sandboxes.patch(sandbox, body, () =>
      client.patch(sandboxType, { namespace, name }, { type: "merge", body }, {}, signal),
    );
    return true;
  } catch (error) {
    if (!isConflict(error)) throw error;
    await sandboxes.write(key, () => client.get(sandboxType, { namespace, name }, signal));
    return false;
  }
}
