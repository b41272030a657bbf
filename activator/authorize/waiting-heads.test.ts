import type { ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { answerJson, openScriptedApi } from "../../test/support/fakes/scripted-api.ts";
import { routed, verdictOf } from "../../test/support/labs/authorization.ts";
import { reviewedTokens } from "./reviewed-tokens.ts";

const bytes = 65_536;
const unavailable = "503 Authorization cannot be checked at the moment.";

it("requests that wait for one review keep their heads within 32 MiB, and one client has half of it", async () => {
  const clock = new FakeClock();
  const reviews: ServerResponse[] = [];
  await using api = await openScriptedApi((_, response) => void reviews.push(response), { clock });
  const settings = { ttlMs: 30_000, cacheSize: 100, tokenRequired: true, audiences: [], accessReviewed: false };
  const registry = new Registry();
  const authorizer = reviewedTokens(settings, { client: api.client, clock, log: silentLogger, registry });
  const view = { synced: true, sandbox: () => undefined };
  const ask = (peer: string) =>
    verdictOf(authorizer, { headers: [["Authorization", "Bearer good"]], peer, bytes, target: routed, view });
  const crowd = Array.from({ length: 300 }, () => ask("10.0.0.1"));
  const others = Array.from({ length: 100 }, () => ask("10.0.0.2"));
  await eventually(() => reviews.length === 1);
  for (const response of reviews) answerJson(response, 201, { status: { authenticated: true, user: {} } });
  const allowed = (verdicts: readonly string[]) => verdicts.filter((verdict) => verdict === "allowed").length;
  const [ofCrowd, ofOthers] = [await Promise.all(crowd), await Promise.all(others)];
  expect([allowed(ofCrowd), allowed(ofOthers)]).toEqual([256, 100]);
  expect(new Set(ofCrowd)).toEqual(new Set(["allowed", unavailable]));
  expect(await registry.metrics()).toContain('reviews_total{review="token",outcome="crowded"} 44');
  expect(await Promise.all(Array.from({ length: 300 }, () => ask("10.0.0.1")))).toEqual(
    Array.from({ length: 300 }, () => "allowed"),
  );
});
