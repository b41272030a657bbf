import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { sealedPodAnnotation } from "../../api/rules/keys.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aPodOf, aSandbox, noon } from "../../test/support/builders/builders.ts";
import { feedInformer } from "../../test/support/fakes/fed-informer.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { OwnWrites } from "../own-writes.ts";
import { RejectedSuspensions } from "./handshake/rejected-suspensions.ts";
import { Suspender } from "./handshake/suspender.ts";
import { SuspensionMetrics } from "./suspension-metrics.ts";

const seal = JSON.stringify({ podName: "nova", podUid: "uid-of-pod", cause: "Person", at: noon });
const sealed = aSandbox({ operatingMode: "Suspended" }, { annotations: { [sealedPodAnnotation]: seal } });

/** A suspender that has seen `sealed` with its Pod, which is on its way. */
async function openSealed() {
  const stack = new AsyncDisposableStack();
  const { client } = stack.use(await openMemoryApi());
  const clock = new FakeClock(noon);
  const sandboxFeed = feedInformer<Sandbox>({});
  const podFeed = feedInformer<Pod, "trackedOwner">({ trackedOwner: () => [] });
  const sandboxes = stack.use(new OwnWrites(sandboxFeed.informer, clock));
  const pods = stack.use(new OwnWrites(podFeed.informer, clock));
  const suspender = stack.use(
    new Suspender({
      ...{ client, sandboxes, pods, clock, askers: undefined, events: undefined },
      ...{
        silenceLimitMs: 1_000,
        isFenced: () => false,
        metrics: new SuspensionMetrics(new Registry()),
        rejections: new RejectedSuspensions({ clock, log: silentLogger }),
        onCancelled: () => {},
      },
    }),
  );
  const pod = aPodOf(sealed, { uid: "uid-of-pod", deletionTimestamp: noon });
  const pass = (sandbox: Stored<Sandbox>) =>
    suspender.suspend(() => ({ sandbox, pods: [pod] }), new AbortController().signal);
  sandboxFeed.feed.set(sealed);
  await pass(sealed);
  expect(suspender.sealsRemembered).toBe(1);
  return { suspender, feed: sandboxFeed.feed, pass, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe("the age of a seal is forgotten", () => {
  it("when its sandbox is deleted, also where another takes the name", async () => {
    {
      await using world = await openSealed();
      world.feed.unset(sealed);
      expect(world.suspender.sealsRemembered).toBe(0);
    }
    await using world = await openSealed();
    world.feed.set(aSandbox({}, { uid: "uid-of-another", resourceVersion: "2" }));
    expect(world.suspender.sealsRemembered).toBe(0);
  });

  it("when its sandbox expires", async () => {
    await using world = await openSealed();
    await world.pass({ ...sealed, spec: { ...sealed.spec, shutdownTime: noon } });
    expect(world.suspender.sealsRemembered).toBe(0);
  });

  it("when the seal is removed by hand", async () => {
    await using world = await openSealed();
    await world.pass(aSandbox({ operatingMode: "Running" }));
    expect(world.suspender.sealsRemembered).toBe(0);
  });
});
