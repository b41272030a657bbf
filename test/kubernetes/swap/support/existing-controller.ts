import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { findDaemon } from "../../../../cluster/daemon.ts";
import { buildImage } from "../../../../cluster/images/image-store.ts";
import { insideOf } from "../../../../cluster/start-component.ts";
import { findModule } from "../../../../scripts/tools/build-tool.ts";
import { clusterLayout } from "../../e2e/support/components.ts";

/** The last release of the existing controller that stored `v1alpha1`. */
const version = "v0.4.6";
/** The registry of that release, which its manifests and its chart name. */
const image = `registry.k8s.io/agent-sandbox/agent-sandbox-controller:${version}`;

const dockerfile = `FROM scratch
COPY agent-sandbox-controller /agent-sandbox-controller
WORKDIR /tmp
ENTRYPOINT ["/agent-sandbox-controller"]
`;

/** The files of the existing controller. Disposing removes its image. */
export interface ExistingController extends AsyncDisposable {
  /** Paths, in the order in which they are applied. */
  readonly manifests: readonly string[];
  /** Path of the packed chart. */
  readonly chart: string;
  /** Path of the chart of a release that stores `v1beta1`. */
  readonly laterChart: string;
  readonly version: string;
}

/** Creates an image of the released controller, and finds the manifests and the chart of the same release. */
export async function provideExistingController(): Promise<ExistingController> {
  // A later release of the module has them for the tests of its own upgrade.
  const later = await findModule("agent-sandbox", "sigs.k8s.io/agent-sandbox", { environment: process.env });
  const released = (file: string) => join(later, "test", "migration", "testdata", version, file);

  const layout = clusterLayout();
  const keeper = findDaemon(layout, "mount-namespace");
  if (!keeper) throw new Error("the cluster does not run");
  const inside = insideOf(layout, keeper.pid);
  const context = join(layout.images, "existing-controller");
  rmSync(context, { recursive: true, force: true });
  mkdirSync(context, { recursive: true });
  copyFileSync(inject("existingController"), join(context, "agent-sandbox-controller"));
  writeFileSync(join(context, "Dockerfile"), dockerfile);
  await buildImage(inside, { names: [image], context, dockerfile: join(context, "Dockerfile") });
  return {
    manifests: [released("manifest.yaml"), released("extensions.yaml")],
    chart: released(`helm-${version}.tar.gz`),
    laterChart: join(later, "helm"),
    version,
    async [Symbol.asyncDispose]() {
      rmSync(context, { recursive: true, force: true });
      await inside.run("ctr", ["--namespace=k8s.io", "images", "remove", image]);
    },
  };
}
