import { describe, expect, it } from "vitest";
import { suspensionCauseAnnotation } from "../../api/keys.ts";
import { sandboxType } from "../../api/sandbox.ts";
import { inactivityAt } from "../../api/suspension.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
import { aSandbox } from "../../test/support/activator-world.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { BondBook } from "../activity/bond-book.ts";
import { startCluster } from "../sandbox/cluster.ts";
import { Stirring } from "./stirring.ts";
import { Waker } from "./waker.ts";

const nova = { namespace: "default", name: "nova" };

async function openLab() {
  await using opened = new AsyncDisposableStack();
  const api = opened.use(await openMemoryApi());
  const parts = { client: api.client, clock: systemClock, log: silentLogger };
  const { metadata } = await api.client.create(sandboxType, aSandbox("nova"));
  const cluster = opened.use(startCluster(parts));
  const bonds = new BondBook(() => {});
  const woken: number[] = [];
  const onWoken = (_: unknown, port: number) => woken.push(port);
  const waker = new Waker(api.client, { perSecond: 100, burst: 100 }, systemClock);
  const stirring = opened.use(new Stirring({ ...parts, cluster, bonds, waker, onWoken }));
  await eventually(() => cluster.synced);
  const seen = () => cluster.sandbox(nova.namespace, nova.name);
  const closing = opened.move();
  return {
    ...{ bonds, stirring, woken, uid: metadata.uid, seen },
    mode: async () => (await api.client.get(sandboxType, nova)).spec.operatingMode,
    async suspend(cause: "Inactivity" | "Person") {
      const annotations = cause === "Inactivity" ? { [suspensionCauseAnnotation]: inactivityAt(2) } : {};
      const body = { metadata: { annotations }, spec: { operatingMode: "Suspended" } };
      await api.client.patch(sandboxType, nova, { type: "merge", body });
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const stirred = { ...nova, port: 5432 };

describe("something that moves on an open connection", () => {
  it("calls off a suspension by inactivity", async () => {
    await using lab = await openLab();
    await lab.suspend("Inactivity");
    await eventually(() => lab.seen()?.spec.operatingMode === "Suspended");
    lab.stirring.moved(stirred);
    lab.stirring.moved(stirred);
    await eventually(async () => (await lab.mode()) === "Running");
    await eventually(() => lab.woken.length > 0);
    expect(lab.woken).toEqual([5432]);
  });

  it("calls it off as soon as it is seen, when we were told of it before", async () => {
    await using lab = await openLab();
    lab.bonds.told(lab.uid, 2, 1);
    lab.stirring.moved(stirred);
    await lab.suspend("Inactivity");
    await eventually(() => lab.woken.length > 0);
    expect(await lab.mode()).toBe("Running");
  });

  it("leaves a suspension alone that a person wrote", async () => {
    await using lab = await openLab();
    await lab.suspend("Person");
    await eventually(() => lab.seen()?.spec.operatingMode === "Suspended");
    lab.stirring.moved(stirred);
    await lab.stirring[Symbol.asyncDispose](); // waits for what it does
    expect(await lab.mode()).toBe("Suspended");
    expect(lab.woken).toEqual([]);
  });
});
