import type { Clock } from "../lib/time/clock.ts";
import type { ToolBuilder } from "../scripts/tools/build-tool.ts";
import type { BuiltPrograms } from "./components.ts";
import type { ClusterConfig } from "./config.ts";
import { productImages } from "./images/product.ts";
import { provideImages } from "./images/provide-images.ts";
import { linkPrograms } from "./link-programs.ts";
import { prepareMachine } from "./machine/prepare-machine.ts";
import { installChart } from "./release/install-chart.ts";
import { releaseIsReady } from "./release/release-ready.ts";
import { type Cluster, startCluster } from "./start-cluster.ts";

/**
 * Starts a cluster with the product of this checkout, or the missing parts of one.
 *
 * @throws Unprepared and all errors of startCluster.
 */
export async function bringUp(
  config: ClusterConfig,
  builder: ToolBuilder,
  clock: Clock,
): Promise<Cluster & { readonly programs: BuiltPrograms }> {
  const programs = await prepareMachine(config, builder);
  const images = productImages({ withAgent: programs.gvisor !== undefined });
  builder.say("starting Kubernetes and building missing images (a minute or two the first time) ...");
  const cluster = await startCluster({
    directory: config.directory,
    programs,
    clock,
    provideImages: (inside) => provideImages(inside, images),
  });
  linkPrograms(cluster.layout, programs);
  builder.say("installing the chart ...");
  await installChart(cluster.layout, programs, images);
  await releaseIsReady(cluster.kubectl, clock);
  return { ...cluster, programs };
}
