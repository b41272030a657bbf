import { expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { Turns } from "../../lib/time/turns.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { eventually } from "../../test/support/eventually.ts";
import { answerJson, openScriptedApi, type Script } from "../../test/support/fakes/scripted-api.ts";

const nova = { namespace: "lab", name: "nova" };
const aPod = aPodOf(aSandbox());

it("large answers and all writes wait for their turn in a busy process, and small answers do not", async () => {
  const clock = new FakeClock();
  const turns = new Turns(clock);
  const large = { ...aPod, metadata: { ...aPod.metadata, annotations: { text: "x".repeat(64 * 1024) } } };
  const script: Script = ({ path }, response) => answerJson(response, 200, path.endsWith("/large") ? large : aPod);
  await using api = await openScriptedApi(script, { turns });
  await turns.rest();
  await clock.pause(1_000);
  const settled: string[] = [];
  const calls = [
    api.client.get(podType, { ...nova, name: "large" }).then(() => settled.push("large")),
    api.client.create(podType, aPod).then(() => settled.push("write")),
  ];
  await api.client.get(podType, nova);
  expect(api.received.map(({ method }) => method)).not.toContain("POST");
  await eventually(() => api.received.length === 2);
  expect(settled).toEqual([]);
  await clock.advance(250);
  await Promise.all(calls);
});

it("a write waits beside those of another namespace, not behind them", async () => {
  const clock = new FakeClock();
  const turns = new Turns(clock);
  await using api = await openScriptedApi((_, response) => answerJson(response, 200, aPod), { turns });
  await turns.rest();
  await clock.pause(1_000);
  const settled: string[] = [];
  const write = (namespace: string) =>
    api.client.create(podType, { ...aPod, metadata: { ...aPod.metadata, namespace } }).then(() => {
      // Each turn has one of them.
      void clock.pause(50);
      settled.push(namespace);
    });
  const writes = [...Array<string>(20).fill("crowd"), "lab"].map(write);
  await clock.advance(250);
  await Promise.all(writes);
  expect(api.received.findIndex(({ path }) => path.includes("/lab/"))).toBeLessThan(4);
});
