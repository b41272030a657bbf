import { rmSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { customResourceDefinitions } from "../../../../api/crd/definitions.ts";
import { commandEnvironment } from "../../../../cluster/command.ts";
import { productImages } from "../../../../cluster/images/product.ts";
import { installChart, release } from "../../../../cluster/install-chart.ts";
import { apiServerUrl } from "../../../../cluster/network.ts";
import { clusterLayout } from "../../e2e/support/components.ts";
import type { ClusterUnderTest } from "../../support/cluster-under-test.ts";

const roles = ["agent-sandbox-controller", "agent-sandbox-controller-extensions", "sandbox-router"];
const policy = "sandbox-router-may-only-wake";

/** Takes whatever controller there is out of the cluster, its definitions and so all sandboxes too, however far it got. */
export async function emptyCluster({ kubectl }: ClusterUnderTest): Promise<void> {
  const remove = (...args: readonly string[]) =>
    kubectl.run(["delete", ...args, "--ignore-not-found", "--timeout=120s"]);
  for (const { metadata } of customResourceDefinitions()) {
    // What is stored in another version could not be deleted without a webhook that converts it.
    const patch = '--patch={"spec":{"conversion":{"strategy":"None","webhook":null}}}';
    if (await kubectl.succeeds(["get", "crd", metadata.name])) {
      await kubectl.run(["patch", "crd", metadata.name, "--type=merge", patch]);
    }
  }
  // Where Pods may take ten minutes to end, a namespace looks again only after five, however soon they have gone.
  await remove("deployment", `--namespace=${release.namespace}`, "--all", "--cascade=foreground");
  await remove("crd", ...customResourceDefinitions().map(({ metadata }) => metadata.name));
  for (const kind of ["clusterrolebinding", "clusterrole"]) await remove(kind, ...roles);
  for (const kind of ["validatingadmissionpolicybinding", "validatingadmissionpolicy"]) await remove(kind, policy);
  await remove("secret", "--namespace=default", "--selector=owner=helm");
  await remove("namespace", release.namespace);
  forgetVersions();
}

/**
 * Has kubectl ask anew which versions the cluster serves. It remembers that for hours, and what only a newer version has is
 * dropped in silence from what is sent in an older one.
 */
export function forgetVersions(): void {
  const server = new URL(apiServerUrl).host.replace(":", "_");
  rmSync(join(commandEnvironment.HOME, ".kube", "cache", "discovery", server), { recursive: true, force: true });
}

/** Installs our chart as it is for all other tests, where there is no controller. */
export const installAsBefore = (): Promise<void> => installChart(clusterLayout(), inject("helm"), productImages());
