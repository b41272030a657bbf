import { expect, it, vi } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sealedPodAnnotation } from "../../api/rules/keys.ts";
import { formatSeal } from "../../api/rules/suspension.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { openSleepLab, waiting } from "../../test/support/labs/sleep-lab.ts";

it("a sandbox whose Pod is sealed gets its next Pod at once when automatic suspension is switched off", async () => {
  await using lab = await openSleepLab();
  const clock = new FakeClock(new Date());
  await using _controller = await lab.startController({ clock, flags: ["--activator-namespace="] });
  const { metadata } = await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 60 } });
  const { uid, name } = (await lab.untilReady()).metadata;
  // As the controller with activators, whose place this one takes, has left it.
  const seal = formatSeal({ podName: name ?? "", podUid: uid, cause: "Inactivity", at: clock.now().toISOString() });
  const body = { metadata: { annotations: { [sealedPodAnnotation]: seal } } };
  const at = { namespace: metadata.namespace, name: metadata.name ?? "" };
  await lab.client.patch(sandboxType, at, { type: "merge", body });
  const beganMs = clock.ticksMs();
  await vi.waitFor(async () => {
    await clock.advance(100);
    expect((await lab.pod())?.metadata.uid ?? uid).not.toBe(uid);
  }, waiting);
  expect(clock.ticksMs() - beganMs).toBeLessThan(240_000);
});
