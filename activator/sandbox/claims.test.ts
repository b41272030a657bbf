import { expect, it } from "vitest";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { createLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { startClaims } from "./claims.ts";

const broken = new ApiError(500, { apiVersion: "v1", kind: "Status", message: "conversion webhook failed" });
const refused = new ApiError(404, { apiVersion: "v1", kind: "Status", reason: "NotFound" });

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

it("claims that the API server does not serve are asked for again every minute", async () => {
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
