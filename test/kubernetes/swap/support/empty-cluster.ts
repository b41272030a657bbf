import { rmSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { customResourceDefinitions } from "../../../../api/crd/definitions.ts";
import { commandEnvironment } from "../../../../cluster/command.ts";
import { productImages } from "../../../../cluster/images/product.ts";
import { apiServerUrl } from "../../../../cluster/network.ts";
import { installChart, release } from "../../../../cluster/release/install-chart.ts";
import { clusterLayout } from "../../e2e/support/components.ts";
import type { ClusterUnderTest } from "../../support/cluster-under-test.ts";

const roles = ["agent-sandbox-controller", "agent-sandbox-controller-extensions", "sandbox-router"];
const policies = [
  "sandbox-router-may-only-wake",
  "sandbox-router-may-only-wake-by-name",
  "agent-sandbox-controller-alone-writes-its-slices",
];

/** Removes any controller from the cluster, with its definitions and thus all sandboxes, from any intermediate state. */
export async function emptyCluster({ kubectl }: ClusterUnderTest): Promise<void> {
  const remove = (...args: readonly string[]) =>
    kubectl.run(["delete", ...args, "--ignore-not-found", "--timeout=120s"]);
  for (const { metadata } of customResourceDefinitions()) {
    // Objects that are stored in another version could not be deleted without a webhook that converts them.
    const patch = '--patch={"spec":{"conversion":{"strategy":"None","webhook":null}}}';
    if (await kubectl.succeeds(["get", "crd", metadata.name])) {
      await kubectl.run(["patch", "crd", metadata.name, "--type=merge", patch]);
    }
  }
  // If Pods have ten minutes to end, a namespace checks again only after five, even if they end sooner.
  await remove("deployment", `--namespace=${release.namespace}`, "--all", "--cascade=foreground");
  await remove("crd", ...customResourceDefinitions().map(({ metadata }) => metadata.name));
  // The policies reject everything while there is no binding that says whom they are about.
  for (const kind of ["validatingadmissionpolicybinding", "validatingadmissionpolicy"]) await remove(kind, ...policies);
  for (const kind of ["clusterrolebinding", "clusterrole"]) await remove(kind, ...roles);
  await remove("secret", "--namespace=default", "--selector=owner=helm");
  await remove("namespace", release.namespace);
  forgetVersions();
}

/**
 * Makes kubectl discover the served versions again. It caches them for hours, and drops fields of a newer version silently
 * from objects that it sends in an older one.
 */
export function forgetVersions(): void {
  const server = new URL(apiServerUrl).host.replace(":", "_");
  rmSync(join(commandEnvironment.HOME, ".kube", "cache", "discovery", server), { recursive: true, force: true });
}

/** Installs our chart as for all other tests, on a cluster without a controller. */
export const installAsBefore = (): Promise<void> => installChart(clusterLayout(), inject("programs"), productImages());
