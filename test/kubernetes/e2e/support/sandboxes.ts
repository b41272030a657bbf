import { type Event, eventType, type Pod, podType } from "../../../../api/kinds/core.ts";
import { memoryImageType } from "../../../../api/kinds/memory-image.ts";
import { type Sandbox, sandboxType } from "../../../../api/kinds/sandbox.ts";
import { nodeBaseImage } from "../../../../cluster/images/node-base.ts";
import { isNotFound } from "../../../../kube/client/errors.ts";
import type { ClusterUnderTest } from "../../support/cluster-under-test.ts";
import { openTestNamespace } from "../../support/workload.ts";
import { program } from "./program.ts";

type SandboxSpec = Partial<Sandbox["spec"]>;

/** A suspended sandbox that runs the tests' program once it is woken. */
export function sandboxNamed(
  name: string,
  options: { readonly spec?: SandboxSpec; readonly container?: object; readonly pod?: object } = {},
) {
  const container = { name: "main", image: nodeBaseImage, command: ["node", "--eval", program], ...options.container };
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name },
    spec: {
      operatingMode: "Suspended",
      podTemplate: { spec: { terminationGracePeriodSeconds: 10, containers: [container], ...options.pod } },
      ...options.spec,
    },
  };
}

/** A namespace of one test, and the actions of a user on the sandboxes in it. */
export async function openSandboxes(cluster: Pick<ClusterUnderTest, "client" | "kubectl">) {
  const test = await openTestNamespace(cluster);
  const { namespace } = test;
  const { client } = cluster;
  const sandbox = (name: string) => client.get(sandboxType, { namespace, name });
  const condition = async (name: string, type: string) =>
    (await sandbox(name)).status?.conditions?.find((each) => each.type === type);
  const eventsOf = async (kind: string, name: string): Promise<readonly Event[]> => {
    const { items } = await client.list(eventType, { namespace });
    return items.filter((event) => isAbout(event, kind, name));
  };

  return {
    ...test,
    sandbox,
    condition,
    at: (name: string) => ({ namespace, name }),
    memoryImages: async () => (await client.list(memoryImageType, { namespace })).items,
    async podOf(name: string): Promise<Pod | undefined> {
      return client.get(podType, { namespace, name }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
    },
    pause: (name: string) =>
      test.run("patch", "sandbox", name, "--type=merge", '--patch={"spec":{"operatingMode":"Suspended"}}'),
    untilAsleep: (...names: readonly string[]) =>
      test.run("wait", ...names.map((name) => `sandbox/${name}`), "--for=condition=Suspended", "--timeout=60s"),
    /** The reasons of all events about an object. They are written a moment after the changes that they report. */
    async eventReasons(kind: string, name: string): Promise<readonly string[]> {
      return (await eventsOf(kind, name)).map(({ reason }) => reason ?? "");
    },
    eventsOf,
  };
}

const isAbout = ({ regarding }: Event, kind: string, name: string) =>
  regarding?.kind === kind && regarding.name === name;
