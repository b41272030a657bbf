import type { ClusterUnderTest } from "./cluster-under-test.ts";

/** A namespace for one test. Disposing deletes it with its objects, and does not wait for that. */
export async function openTestNamespace({ kubectl }: Pick<ClusterUnderTest, "kubectl">) {
  const namespace = `test-${crypto.randomUUID().slice(0, 8)}`;
  await kubectl.run(["create", "namespace", namespace]);
  const run = (...args: readonly string[]) => kubectl.run(["--namespace", namespace, ...args]);
  return {
    namespace,
    run,
    /** Applies manifests as a user does. */
    applyManifest: (yaml: string) => kubectl.run(["--namespace", namespace, "apply", "--filename=-"], yaml),
    apply: (...objects: readonly { readonly metadata: object }[]) =>
      kubectl.apply(objects.map((object) => ({ ...object, metadata: { ...object.metadata, namespace } }))),
    [Symbol.asyncDispose]: async () => void (await kubectl.run(["delete", "namespace", namespace, "--wait=false"])),
  };
}

/** A Pod that exits within a second on SIGTERM. */
export const busyboxPod = (name: string, command: string, rest: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: name } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "busybox:1.36", command: ["sh", "-c", command], ...rest }],
  },
});

export const serviceOf = (
  app: string,
  name: string,
  ports: { readonly port: number; readonly targetPort: number },
) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { selector: { app }, ports: [ports] },
});
