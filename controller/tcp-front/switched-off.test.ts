import { expect, it, vi } from "vitest";
import { endpointSliceType, tcpFrontOf, tcpFrontSliceName } from "../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { ApiError, ApiUnreachable } from "../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { recordCalls } from "../../test/support/fakes/recording-client.ts";
import { type FrontLab, openFrontLab } from "../../test/support/labs/front-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

const isSwitchedOff = true;

/** A sandbox whose name leads to an activator, by a controller that has ended. */
async function fromBefore(lab: FrontLab): Promise<Stored<Sandbox>> {
  await using _controller = await lab.startController();
  const sandbox = await lab.create();
  await lab.untilLeadingTo(sandbox, "10.0.0.1");
  return sandbox;
}

/** Time passes in steps until the expectation holds: calls take real time. */
const asTimePasses = (clock: FakeClock, expectation: () => Promise<void>) =>
  vi.waitFor(async () => {
    await clock.advance(30_000);
    await expectation();
  }, waiting);

it("a controller without activators takes them out of the slices, and keeps the ports in quarantine", async () => {
  await using lab = await openFrontLab();
  const sandbox = await fromBefore(lab);
  await using _controller = await lab.startController({ isSwitchedOff });
  const slice = await lab.untilLeadingTo(sandbox);
  expect(tcpFrontOf(slice)).toMatchObject({ freedAt: expect.any(String), ports: [{ containerPort: 5432 }] });
});

it("deletes these slices when the quarantine is over, and makes no more calls about slices then", async () => {
  await using lab = await openFrontLab();
  const sandbox = await fromBefore(lab);
  const clock = new FakeClock(systemClock.now());
  const client = recordCalls(lab.client);
  await using _controller = await lab.startController({ isSwitchedOff, client, clock });
  await lab.untilLeadingTo(sandbox);
  const beganMs = clock.ticksMs();
  await asTimePasses(clock, async () => expect(await lab.slices()).toEqual([]));
  expect(clock.ticksMs() - beganMs).toBeGreaterThan(590_000);
  const calls = () => client.calls.filter(({ kind }) => kind === "EndpointSlice").length;
  const made = calls();
  await clock.advance(3_600_000);
  expect(calls()).toBe(made);
});

it("retries what fails, and does not touch the slices of others", async () => {
  await using lab = await openFrontLab();
  const sandbox = await fromBefore(lab);
  const foreign = await lab.client.create(endpointSliceType, {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace: "default",
      name: tcpFrontSliceName("foreign"),
      labels: { "kubernetes.io/service-name": "nova" },
    },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.9.9.9"] }],
    ports: [],
  });
  let failures = 0;
  const client = interceptCalls(lab.client, async ({ verb, kind }, proceed) => {
    if (kind !== "EndpointSlice" || failures >= 3) return proceed();
    failures += 1;
    throw new ApiUnreachable(`no ${verb}`);
  });
  const clock = new FakeClock(systemClock.now());
  await using _controller = await lab.startController({ isSwitchedOff, client, clock });
  await asTimePasses(clock, async () => expect((await lab.slice(sandbox))?.endpoints).toEqual([]));
  await vi.waitFor(async () => expect(await lab.slices()).toContainEqual(foreign), waiting);
});

it("tries again ten minutes after a refusal, which only a changed role helps against", async () => {
  await using lab = await openFrontLab();
  const sandbox = await fromBefore(lab);
  let refusals = 0;
  const client = interceptCalls(lab.client, async ({ kind }, proceed) => {
    if (kind !== "EndpointSlice" || refusals > 0) return proceed();
    refusals += 1;
    throw new ApiError(403, { apiVersion: "v1", kind: "Status", reason: "Forbidden" });
  });
  const clock = new FakeClock(systemClock.now());
  await using _controller = await lab.startController({ isSwitchedOff, client, clock });
  await asTimePasses(clock, async () => expect(refusals).toBe(1));
  const refusedMs = clock.ticksMs();
  await asTimePasses(clock, async () => expect((await lab.slice(sandbox))?.endpoints).toEqual([]));
  expect(clock.ticksMs() - refusedMs).toBeGreaterThan(590_000);
});
