import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { sealOf } from "../../api/rules/suspension.ts";
import { answeredOnce } from "../sleep/promises.ts";
import { home, TestBed } from "../sleep/test-bed.ts";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/seeded-random.ts";

let bed: TestBed;
beforeAll(async () => {
  bed = await TestBed.open({
    controllers: 1,
    activators: 2,
    podTimes: (name) =>
      name.startsWith("slow") ? { scheduleMs: 400, startMs: 400, endMs: 400 } : { scheduleMs: 2, startMs: 2, endMs: 2 },
  });
});
afterAll(() => bed[Symbol.asyncDispose]());

const everyWay = [{ body: "POST" }, {}] as const;

const podOf = async (name: string): Promise<Stored<Pod> | undefined> =>
  (await bed.client.list(podType, { namespace: home })).items.find(({ metadata }) => metadata.name === name);

it("500 suspensions that race with requests lose and repeat no request", async () => {
  const random = seededRandom(6);
  const names = Array.from({ length: 20 }, (_, index) => `race-${index}`);
  const race = async (name: string) => {
    for (let round = 0; round < 25; round += 1) {
      const suspended = delay(20).then(() => bed.change(name, { operatingMode: "Suspended" }));
      await delay(random.below(80));
      const by = random.oneOf(bed.activators);
      const visit = { sandbox: name, afterMs: random.below(15), ...random.oneOf(everyWay) };
      await answeredOnce(by, bed.node.ledger, visit);
      await suspended;
      // The next round starts with a running sandbox.
      await answeredOnce(random.oneOf(bed.activators), bed.node.ledger, { sandbox: name });
    }
  };
  await Promise.all(names.map((name) => bed.create(name, {})));
  await Promise.all(names.map((name) => bed.untilReady(name)));
  await Promise.all(names.map(race));
}, 300_000);

describe("a request is answered once if its Pod is", () => {
  interface State {
    readonly state: string;
    readonly bring: (name: string) => Promise<unknown>;
  }
  const run = (name: string) => bed.change(name, { operatingMode: "Running" });
  const ready = async (name: string) => {
    await run(name);
    await bed.untilReady(name);
  };
  const suspended = async (name: string) => {
    await ready(name);
    await bed.change(name, { operatingMode: "Suspended" });
  };
  const states: readonly State[] = [
    { state: "being created", bring: run },
    {
      state: "starting",
      bring: async (name) => {
        await run(name);
        await eventually(async () => (await podOf(name))?.status?.podIP !== undefined);
      },
    },
    { state: "ready", bring: ready },
    { state: "about to be suspended", bring: suspended },
    {
      state: "sealed",
      bring: async (name) => {
        await suspended(name);
        await eventually(async () => sealOf(await bed.sandbox(name)) !== undefined);
      },
    },
    {
      state: "terminating",
      bring: async (name) => {
        await suspended(name);
        await eventually(async () => (await podOf(name))?.metadata.deletionTimestamp !== undefined);
      },
    },
    {
      state: "gone",
      bring: async (name) => {
        await suspended(name);
        await eventually(async () => (await podOf(name)) === undefined);
      },
    },
    {
      state: "deleted by another client",
      bring: async (name) => {
        await ready(name);
        await bed.client.delete(podType, { namespace: home, name });
      },
    },
    {
      state: "replaced by another UID",
      bring: async (name) => {
        await ready(name);
        const former = (await podOf(name))?.metadata.uid;
        await bed.client.delete(podType, { namespace: home, name });
        await eventually(async () => {
          const uid = (await podOf(name))?.metadata.uid;
          return uid !== undefined && uid !== former;
        });
      },
    },
  ];

  it.each(states)("$state", async ({ state, bring }) => {
    const name = `slow-${state.replaceAll(" ", "-").toLowerCase()}`;
    await bed.create(name, { operatingMode: "Suspended" });
    await bed.untilAsleep(name);
    await bring(name);
    const visits = bed.activators.flatMap((by) =>
      everyWay.map((way) => answeredOnce(by, bed.node.ledger, { sandbox: name, ...way })),
    );
    const pods = new Set((await Promise.all(visits)).map(({ podUid }) => podUid));
    expect(pods.size).toBe(1);
  });
});
