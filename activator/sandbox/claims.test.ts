import { expect, it } from "vitest";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { createLogger, silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { startClaims } from "./claims.ts";

const broken = new ApiError(500, { apiVersion: "v1", kind: "Status", message: "conversion webhook failed" });
const refused = new ApiError(403, { apiVersion: "v1", kind: "Status", reason: "Forbidden" });

/** The lookup of claims at an API server that fails these lists, on the test's clock, with the warnings that it logs. */
async function given(fails: (limit: number | undefined) => boolean, failure: ApiError = broken) {
  await using opened = new AsyncDisposableStack();
  const { client } = opened.use(await openMemoryApi());
  const state = { fails };
  const failing: KubeClient = {
    ...client,
    list: async (type, options, signal) => {
      if (state.fails(options?.limit)) throw failure;
      return client.list(type, options, signal);
    },
  };
  const clock = new FakeClock();
  const warnings: string[] = [];
  const log = createLogger("activator", "warn", { write: (line) => void warnings.push(line) });
  const claims = opened.use(startClaims({ client: failing, clock, log }, { sandbox: () => undefined }));
  const closing = opened.move();
  return { claims, clock, state, warnings, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

it.each([
  { what: "each list fails", fails: () => true },
  { what: "the whole list fails", fails: (limit: number | undefined) => limit !== 1 },
])("claims are awaited for 30 s if $what, and are not settled after that", async ({ fails }) => {
  await using lab = await given(fails);
  await lab.clock.advance(29_999);
  expect([lab.claims.isAwaited, lab.claims.settled]).toEqual([true, false]);
  await lab.clock.advance(1);
  expect([lab.claims.isAwaited, lab.claims.settled]).toEqual([false, false]);
  await expect.poll(() => lab.warnings.join()).toContain("conversion webhook failed");
});

it("claims that cannot be listed are logged once a minute, and are settled once they can be", async () => {
  await using lab = await given(() => true);
  for (let second = 0; second < 119; second += 1) await lab.clock.advance(1_000);
  expect(lab.warnings).toHaveLength(2);
  expect(lab.warnings[0]).toContain("SandboxClaims cannot be listed; retrying");
  lab.state.fails = () => false;
  await asTimePasses(lab.clock, () => expect(lab.claims.settled).toBe(true));
});

it("claims that the activator may not list are asked for again every minute", async () => {
  let asked = 0;
  const count = () => {
    asked += 1;
    return true;
  };
  await using lab = await given(count, refused);
  await expect.poll(() => lab.claims.settled).toBe(true);
  const before = asked;
  await lab.clock.advance(59_999);
  expect(asked).toBe(before);
  await lab.clock.advance(1);
  expect(asked).toBe(before + 1);
});

it("claims that are not served are settled at once, and asked for again after growing pauses", async () => {
  const kinds = servedKinds().filter(({ type }) => type.plural !== sandboxClaimType.plural);
  await using without = await openMemoryApi({ kinds });
  await using served = await openMemoryApi();
  let isServed = false;
  const asked: number[] = [];
  const clock = new FakeClock();
  const client: KubeClient = {
    ...served.client,
    list: (type, options, signal) => {
      asked.push(clock.ticksMs());
      return (isServed ? served : without).client.list(type, options, signal);
    },
  };
  await using claims = startClaims({ client, clock, log: silentLogger }, { sandbox: () => undefined });
  const beganMs = clock.ticksMs();
  for (const [at, pauseMs] of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000].entries()) {
    await expect.poll(() => clock.pending).toBe(1); // the pause
    expect(claims.settled).toBe(true);
    expect(asked).toHaveLength(at + 1);
    await clock.advance(pauseMs);
  }
  expect(asked.at(-1)).toBe(beganMs + 183_000);
  await expect.poll(() => clock.pending).toBe(1);
  isServed = true;
  await clock.advance(60_000);
  // The check, and the list of those that follow.
  await expect.poll(() => asked.length).toBe(11);
});
