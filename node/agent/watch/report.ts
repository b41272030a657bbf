import { type MemoryImage, type MemoryImageStatus, memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";

/** A call that takes longer is made again. */
const reportLimitMs = 10_000;

/** Writes a status. It is refused if the object has changed since: the status was decided on what it was. */
export async function report(client: KubeClient, image: Stored<MemoryImage>, status: MemoryImageStatus): Promise<void> {
  const { name, namespace, resourceVersion } = image.metadata;
  const body = { metadata: { resourceVersion }, status: changesTo(image.status ?? {}, status) };
  const options = { subresource: "status" as const, fieldManager: "rouse-node-agent" };
  const signal = AbortSignal.timeout(reportLimitMs);
  await client.patch(memoryImageType, { name, namespace }, { type: "merge", body }, options, signal);
}

/** What a merge patch has to say: null for what is not there any more. */
function changesTo(before: object, after: object): object {
  const removed = Object.keys(before).filter((name) => !(name in after));
  const old = before as Readonly<Record<string, unknown>>;
  const kept = Object.entries(after).map(([name, value]) => [
    name,
    isPlain(value) ? changesTo(plain(old[name]), value) : value,
  ]);
  return Object.fromEntries([...removed.map((name) => [name, null]), ...kept]);
}

const isPlain = (value: unknown): value is object => typeof value === "object" && value !== null;
const plain = (value: unknown): object => (isPlain(value) ? value : {});
