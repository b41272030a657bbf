import { endpointSliceType, serviceNameLabel, tcpFrontSelector } from "../../api/between-programs/tcp-front.ts";
import { sandboxV1alpha1Type } from "../../api/conversion/v1alpha1.ts";
import { serviceType } from "../../api/kinds/core.ts";
import { keyOf, type Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";
import { causeOf } from "../../api/rules/suspension.ts";
import { isFront } from "../../controller/sandbox/service/make-service.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { listEverything } from "../../kube/client/list-everything.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { MigrateConfig } from "./config.ts";
import { keepDefinitions } from "./keep-definitions.ts";
import { listServed } from "./list-served.ts";
import { definitionsOf } from "./our-definitions.ts";
import type { Outcome } from "./outcome.ts";

/** A controller that leads without activators needs a few seconds for all Services. */
const patienceMs = 60_000;
const checkMs = 2_000;

type Scope = Pick<MigrateConfig, "namespace" | "dryRun">;

/**
 * Checks that Rouse can go, by a rollback or by an uninstall: the definitions are kept, and no name of a sandbox leads to activators.
 * Lists the suspended sandboxes, because nothing wakes them by itself afterwards.
 *
 * @throws the errors of `KubeClient`.
 */
export async function leave(client: KubeClient, clock: Clock, config: Scope, signal: AbortSignal): Promise<Outcome> {
  const found = await definitionsOf(client, signal);
  if (found.length === 0) return { written: [], notes: [], problems: ["the four definitions do not exist"] };
  const leading = await untilNoneLeads(client, clock, config, signal);
  // Last, because the wait takes up to a minute, in which an installer may take the annotations off.
  const kept = await keepDefinitions(client, config, signal);
  return {
    written: kept.written,
    notes: await suspendedIn(client, config, signal),
    problems: [...kept.problems, ...leading.map((name) => `${name} leads to activators: ${cure}`)],
    reached:
      "the definitions stay, and no name of a sandbox leads to activators: you can uninstall Rouse, or roll back",
  };
}

const cure =
  "install Rouse with autoSuspension.enabled=false (without Helm: the controller with --activator-namespace=), wait until it leads, and run this phase again";

async function untilNoneLeads(client: KubeClient, clock: Clock, config: Scope, signal: AbortSignal) {
  const endMs = clock.ticksMs() + patienceMs;
  for (;;) {
    const leading = await leadingToActivators(client, config, signal);
    if (leading.length === 0 || config.dryRun || clock.ticksMs() >= endMs) return leading;
    await clock.sleep(checkMs, signal);
  }
}

/** The EndpointSlices of the controller that name a Service, and the Services of sandboxes that only such slices lead anywhere. */
async function leadingToActivators(
  client: KubeClient,
  { namespace }: Scope,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const selection = { namespace, labelSelector: tcpFrontSelector };
  const slices = (await listEverything(client, endpointSliceType, selection, signal)).items
    .filter(({ metadata, endpoints }) => metadata.labels?.[serviceNameLabel] !== undefined || endpoints?.length)
    .map((slice) => `EndpointSlice ${keyOf(slice)}`);
  const services = (await listEverything(client, serviceType, { namespace }, signal)).items
    .filter((service) => isFront(service) && controllerOfKind(service, sandboxType) !== undefined)
    .map((service) => `Service ${keyOf(service)}`);
  return [...slices, ...services];
}

/** By a note for each, in the version that is served. */
async function suspendedIn(client: KubeClient, { namespace }: Scope, signal: AbortSignal): Promise<readonly string[]> {
  const current = await listServed(client, sandboxType, namespace, signal);
  if (current) return current.filter(({ spec }) => spec?.operatingMode === "Suspended").map(describeSuspended);
  const older = (await listServed(client, sandboxV1alpha1Type, namespace, signal)) ?? [];
  return older.filter(({ spec }) => spec?.replicas === 0).map((sandbox) => `sandbox ${keyOf(sandbox)} ${staysSo}`);
}

const describeSuspended = (sandbox: Stored<Sandbox>): string => {
  const by = causeOf(sandbox) === "Inactivity" ? "by inactivity" : "by a person";
  return `sandbox ${keyOf(sandbox)} ${staysSo} (${by})`;
};

const staysSo = "is suspended, and no connection wakes it without Rouse";
