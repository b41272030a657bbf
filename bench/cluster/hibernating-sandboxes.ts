import { statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type MemoryImage, memoryImageType } from "../../api/kinds/memory-image.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { nodeBaseImage } from "../../cluster/images/node-base.ts";
import { until } from "../until.ts";
import type { World } from "./world.ts";

/** How a sandbox of the benchmark wakes. */
export const ways = ["restored", "anew in gVisor", "anew in runc"] as const;
export type Way = (typeof ways)[number];

export interface Variant {
  readonly way: Way;
  readonly megabytes: number;
  /** Whether its Pod has the volume of a ServiceAccount token, for which the kubelet waits. */
  readonly hasToken: boolean;
}

export const nameOf = ({ way, megabytes, hasToken }: Variant): string =>
  `${way.replaceAll(" ", "-").toLowerCase()}-${megabytes}${hasToken ? "-token" : ""}`;

/** Has that many megabytes of random memory, and answers with the name of its life. */
const programWith = (megabytes: number): string => `
const { randomFillSync, randomUUID } = require("node:crypto");
const life = randomUUID();
const memory = Array.from({ length: ${megabytes} }, () => randomFillSync(Buffer.alloc(1e6)));
require("node:http").createServer((_, response) => response.end(life + " " + memory.length)).listen(8888, "0.0.0.0");
process.on("SIGTERM", () => process.exit(0));
`;

export function sandboxOf(namespace: string, name: string, variant: Variant): Sandbox {
  const container = { name: "main", image: nodeBaseImage, command: ["node", "--eval", programWith(variant.megabytes)] };
  const runtimeClassName = variant.way === "anew in runc" ? {} : { runtimeClassName: "gvisor" };
  return {
    apiVersion: apiVersionOf(sandboxType),
    kind: sandboxType.kind,
    metadata: { namespace, name },
    spec: {
      operatingMode: "Running",
      autoResume: { trigger: "Connection" },
      ...(variant.way === "restored" && { suspensionStrategy: { type: "Hibernate" } }),
      podTemplate: {
        spec: {
          ...runtimeClassName,
          automountServiceAccountToken: variant.hasToken,
          terminationGracePeriodSeconds: 5,
          containers: [container],
        },
      },
    },
  };
}

/** The MemoryImage of the Pod that runs, once its node says that it can be captured. */
export async function untilCapturable(
  { client }: Pick<World, "client">,
  namespace: string,
  pod: string,
): Promise<Stored<MemoryImage>> {
  let found: Stored<MemoryImage> | undefined;
  await until(async () => {
    const { items } = await client.list(memoryImageType, { namespace });
    found = items.find(({ spec, status }) => spec.podName === pod && !status?.phase && status?.preflight?.capturable);
    return found !== undefined;
  });
  if (!found) throw new Error(`${pod} has no MemoryImage`);
  return found;
}

/** What an image takes on the disk, in bytes. */
export async function bytesOnDisk({ layout }: World, { metadata, spec }: Stored<MemoryImage>): Promise<number> {
  const folder = join(layout.var, "lib/rouse/images", metadata.namespace ?? "", spec.podName, metadata.name);
  const names = await readdir(folder);
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).blocks * 512, 0);
}
