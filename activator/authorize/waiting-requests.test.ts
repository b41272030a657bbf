import type { ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { answerJson, openScriptedApi } from "../../test/support/fakes/scripted-api.ts";
import { type Asked, routed, verdictOf } from "../../test/support/labs/authorization.ts";
import type { KeptBody } from "../request.ts";
import { reviewedTokens } from "./reviewed-tokens.ts";
import { WaitingRequests } from "./waiting-requests.ts";

const bytes = 65_536;
const unavailable = "503 Authorization cannot be checked at the moment.";

/** An authorizer whose reviews answer when the test says so. */
async function openReviews(stack: AsyncDisposableStack) {
  const clock = new FakeClock();
  const open: ServerResponse[] = [];
  const api = stack.use(await openScriptedApi((_, response) => void open.push(response), { clock }));
  const settings = { ttlMs: 30_000, cacheSize: 100, tokenRequired: true, audiences: [], accessReviewed: false };
  const registry = new Registry();
  const authorizer = reviewedTokens(settings, { client: api.client, clock, log: silentLogger, registry });
  const view = { synced: true, sandbox: () => undefined };
  const headers = [["Authorization", "Bearer good"]] as const;
  return {
    registry,
    ask: (of: Partial<Asked>) => verdictOf(authorizer, { headers, target: routed, view, ...of }),
    begun: () => eventually(() => open.length === 1),
    answer() {
      for (const response of open) answerJson(response, 201, { status: { authenticated: true, user: {} } });
    },
  };
}

const allowed = (verdicts: readonly string[]) => verdicts.filter((verdict) => verdict === "allowed").length;

it("requests that wait for one review keep their heads within 32 MiB, and one client has half of it", async () => {
  await using stack = new AsyncDisposableStack();
  const { ask, begun, answer, registry } = await openReviews(stack);
  const crowd = Array.from({ length: 300 }, () => ask({ peer: "10.0.0.1", bytes }));
  const others = Array.from({ length: 100 }, () => ask({ peer: "10.0.0.2", bytes }));
  await begun();
  answer();
  const [ofCrowd, ofOthers] = [await Promise.all(crowd), await Promise.all(others)];
  expect([allowed(ofCrowd), allowed(ofOthers)]).toEqual([256, 100]);
  expect(new Set(ofCrowd)).toEqual(new Set(["allowed", unavailable]));
  expect(await registry.metrics()).toContain('reviews_total{review="token",outcome="crowded"} 44');
  expect(await Promise.all(Array.from({ length: 300 }, () => ask({ peer: "10.0.0.1", bytes })))).toEqual(
    Array.from({ length: 300 }, () => "allowed"),
  );
});

/** A body of which nothing has arrived. */
function emptyBody() {
  let grown: ((bytes: number) => void) | undefined;
  const body: KeptBody = {
    keptBytes: 0,
    onGrowth(listener) {
      grown = listener;
    },
  };
  return { body, grow: (more: number) => grown?.(more) };
}

it("what arrives of their bodies meanwhile is kept within 64 MiB, and given back at the end", async () => {
  await using stack = new AsyncDisposableStack();
  const { ask, begun, answer, registry } = await openReviews(stack);
  const bodies = Array.from({ length: 600 }, emptyBody);
  const crowd = bodies.map(({ body }) => ask({ peer: "10.0.0.1", keptBody: body }));
  await begun();
  for (const { grow } of bodies) grow(65_536);
  const other = ask({ peer: "10.0.0.2", keptBody: { keptBytes: 65_536, onGrowth() {} } });
  const tooMany = ask({ peer: "10.0.0.1", keptBody: { keptBytes: 65_536, onGrowth() {} } });
  expect(await tooMany).toBe(unavailable);
  expect(await Promise.all(crowd.slice(512))).toEqual(Array.from({ length: 88 }, () => unavailable));
  bodies[599]?.grow(65_536); // nobody listens any more
  answer();
  expect(await other).toBe("allowed");
  expect(allowed(await Promise.all(crowd))).toBe(512);
  expect(await registry.metrics()).toContain('reviews_total{review="token",outcome="crowded"} 89');
});

it("a review that ends leaves room for as many bodies as before", async () => {
  const waiting = new WaitingRequests();
  const hold = () =>
    waiting.hold({ peer: "10.0.0.1", keptBody: { keptBytes: 32 * 1_048_576, onGrowth() {} } }, () => {});
  const first = hold();
  expect(hold()).toBeUndefined();
  first?.[Symbol.dispose]();
  expect(hold()).toBeDefined();
});
