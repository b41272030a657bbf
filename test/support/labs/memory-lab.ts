import { expect, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { type MemoryImage, memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Hibernation, SandboxSpec } from "../../../api/kinds/sandbox.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { agentPod, startFakeNodeAgent } from "../fakes/fake-node-agent.ts";
import { type Intercept, interceptCalls } from "../fakes/intercepted-client.ts";
import { openSleepLab, type SleepLab, waiting } from "./sleep-lab.ts";

export const flags = ["--hibernation"];
export const containers = [{ name: "main", image: "busybox" }];
export const gvisor = { spec: { containers, nodeName: "node-1", runtimeClassName: "gvisor" } };
export const hibernates: Partial<SandboxSpec> = { suspensionStrategy: { type: "Hibernate" }, podTemplate: gvisor };
export const kept = {
  state: "Hibernated",
  node: "node-1",
  bytes: 31_000_000,
  capturedAt: "2026-01-01T12:00:00Z",
  // The files are synced and hashed at the same time.
  durationMilliseconds: 92,
};

export const images = async ({ client }: SleepLab): Promise<readonly Stored<MemoryImage>[]> =>
  (await client.list(memoryImageType, { namespace: "default" })).items;

export const untilAnswered = (lab: SleepLab, podUid: string) =>
  vi.waitFor(async () => {
    const image = (await images(lab)).find(({ spec }) => spec.podUID === podUid);
    expect(image?.status?.preflight).toBeDefined();
    return image;
  }, waiting);

export const untilTold = (lab: SleepLab, hibernation: unknown) =>
  vi.waitFor(async () => expect(withoutPod((await lab.sandbox()).status?.hibernation)).toEqual(hibernation), waiting);

/** Which Pod it is about. */
export const withoutPod = ({ lastWake, ...rest }: Hibernation = {}): Hibernation => {
  const { podUID: _, ...wake } = lastWake ?? {};
  return { ...rest, ...(lastWake && { lastWake: wake as typeof lastWake }) };
};

export const agentBecomes = ({ client }: SleepLab, ready: "True" | "False") => {
  const body = { status: { conditions: [{ type: "Ready", status: ready }] } };
  return client.patch(podType, agentPod, { type: "merge", body }, { subresource: "status" });
};

export const metric = (text: string, series: string): number =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1),
  );

export const watching = ({ client }: SleepLab) => ({
  ...{ client, namespace: "default", indexes: {} },
  ...{ clock: systemClock, log: silentLogger },
});

const untouched: Intercept = (_call, proceed) => proceed();

/** A sandbox that runs, and whose agent has answered. `intercept`: between its controller and the API server. */
export async function openRunning(spec: Partial<SandboxSpec> = {}, intercept = untouched) {
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(await openSleepLab());
  const agent = stack.use(startFakeNodeAgent(lab.client));
  const client = interceptCalls(lab.client, intercept);
  const controller = stack.use(await lab.startController({ flags, client }));
  await lab.create({ ...hibernates, ...spec });
  const pod = await lab.untilReady();
  await untilAnswered(lab, pod.metadata.uid);
  const opened = stack.move();
  return { lab, agent, controller, pod, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
