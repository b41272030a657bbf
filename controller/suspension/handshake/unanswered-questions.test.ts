import { expect, it } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { openSleepLab, type SleepLab, waiting } from "../../../test/support/labs/sleep-lab.ts";

const other = { namespace: "default", name: "other" };
const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }], nodeName: "node-1" } };

const otherPod = ({ client }: SleepLab) =>
  client.get(podType, other).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });

it("a sandbox wakes while an activator does not answer about another one, also with a single worker", async () => {
  await using lab = await openSleepLab();
  // Its time limit for an answer never comes.
  const clock = new FakeClock(systemClock.now());
  await using _controller = await lab.startController({ clock, flags: ["--sandbox-concurrent-workers=1"] });
  const { promise: answered, resolve: answer } = Promise.withResolvers<number>();
  lab.activator.onPromise = () => answered;
  await lab.create({});
  await lab.untilReady();
  await lab.change({ operatingMode: "Suspended" });
  await expect.poll(() => lab.activator.questions, waiting).toEqual(["promise"]);

  await lab.client.create(sandboxType, { metadata: other, spec: { podTemplate } });
  await expect.poll(() => otherPod(lab), waiting).toBeDefined();
  expect(await lab.pod()).toBeDefined();

  answer(0);
  await lab.untilAsleep();
  expect(lab.activator.questions).toEqual(["promise"]);
});
