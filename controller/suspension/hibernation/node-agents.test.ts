import { expect, it, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { hasReadyAgent, onReadiness, startNodeAgents } from "./node-agents.ts";

const until = (holds: () => boolean) => vi.waitFor(() => expect(holds()).toBe(true), { timeout: 10_000, interval: 10 });

const namespace = "agent-sandbox-system";
const ready = { conditions: [{ type: "Ready", status: "True" as const }] };

interface Deviation {
  readonly label?: string;
  readonly account?: string;
  readonly namespace?: string;
  readonly status?: NonNullable<Pod["status"]>;
}

const agentOn = (nodeName: string, { label, account, status = ready, ...rest }: Deviation = {}): Pod => ({
  ...{ apiVersion: "v1", kind: "Pod" },
  metadata: { name: `on-${nodeName}`, namespace, labels: { app: label ?? "rouse-node-agent" }, ...rest },
  spec: {
    containers: [{ name: "node-agent", image: "rouse" }],
    ...{ nodeName, serviceAccountName: account ?? "rouse-node-agent" },
  },
  status,
});

async function openAgents() {
  await using stack = new AsyncDisposableStack();
  const { client } = stack.use(await openMemoryApi());
  const agents = stack.use(startNodeAgents({ client, namespace, clock: systemClock, log: silentLogger }));
  await agents.synced;
  const told: string[] = [];
  stack.use(onReadiness(agents, (node) => told.push(node)));
  const add = async (pod: Pod) => {
    const { status, metadata } = pod;
    const at = { namespace: metadata.namespace, name: metadata.name ?? "" };
    await client.create(podType, pod);
    await client.patch(podType, at, { type: "merge", body: { status } }, { subresource: "status" });
  };
  const opened = stack.move();
  return { client, told, add, isReady: (node: string) => hasReadyAgent(agents.store, node), opened };
}

it("a node has an agent while a Pod of the agents is Ready on it, and each change is told once", async () => {
  const { add, client, isReady, opened, told } = await openAgents();
  await using _ = opened;
  await add(agentOn("n1"));
  await until(() => isReady("n1"));
  const at = { namespace, name: "on-n1" };
  const status = { conditions: [{ type: "Ready", status: "False" }] };
  await client.patch(podType, at, { type: "merge", body: { status } }, { subresource: "status" });
  await until(() => !isReady("n1"));
  await client.patch(podType, at, { type: "merge", body: { metadata: { annotations: { a: "b" } } } });
  await client.patch(podType, at, { type: "merge", body: { status: ready } }, { subresource: "status" });
  await until(() => isReady("n1"));
  await client.delete(podType, at);
  await until(() => !isReady("n1"));
  expect(told).toEqual(["n1", "n1", "n1", "n1"]);
});

it.each([
  ["another label", { label: "other" }],
  ["another service account", { account: "default" }],
  ["another namespace", { namespace: "default" }],
  ["no condition Ready", { status: {} }],
])("a Pod with %s is no agent that is ready", async (_, deviation) => {
  const { add, isReady, opened } = await openAgents();
  await using _opened = opened;
  await add(agentOn("n1", deviation));
  await add(agentOn("n2"));
  await until(() => isReady("n2"));
  expect(isReady("n1")).toBe(false);
});
