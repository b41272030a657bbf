import { eventually } from "../support/eventually.ts";
import { busyboxPod, type openTestNamespace } from "../support/workload.ts";

// The name of a life and the count are only in memory.
const countUp = `read life < /proc/sys/kernel/random/uuid; n=0
until [ -e /crash ]; do n=$((n+1)); echo $life $n; sleep 0.1; done`;

/** A Pod that counts, in gVisor. With an image it asks for its memory. */
export function counter(image?: string) {
  const { metadata, spec, ...pod } = busyboxPod("guest", countUp);
  const annotations = image ? { "hibernation.rouse.dev/image": image } : {};
  const inGvisor = { ...spec, runtimeClassName: "gvisor", automountServiceAccountToken: false };
  return { ...pod, metadata: { ...metadata, annotations }, spec: inGvisor };
}

export type TestNamespace = Awaited<ReturnType<typeof openTestNamespace>>;

/** The lives and counts that the Pod has printed, from the first on. */
export async function printed({ run }: TestNamespace) {
  const lines = (await run("logs", "guest").catch(() => "")).split("\n").slice(0, -1);
  return lines.map((line) => line.split(" ")).map(([life, count]) => ({ life, count: Number(count) }));
}

/** Waits until the container that runs now has printed something; returns what it printed first. */
export const firstPrinted = (test: TestNamespace, isWanted = (_: { readonly life?: string | undefined }) => true) =>
  eventually(async () => (await printed(test)).slice(0, 1).find(isWanted));
