import {
  sandboxClaimV1alpha1Type,
  sandboxTemplateV1alpha1Type,
  sandboxV1alpha1Type,
  sandboxWarmPoolV1alpha1Type,
} from "../../../api/conversion/v1alpha1.ts";
import { customResourceDefinitionType, podType } from "../../../api/kinds/core.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { type Clock, FakeClock } from "../../../lib/time/clock.ts";
import { parseMigrateConfig } from "../../../scripts/migrate/config.ts";
import type { Version } from "../../../scripts/migrate/our-definitions.ts";
import { runMigration } from "../../../scripts/migrate/run.ts";
import { eventually } from "../eventually.ts";
import { anAlphaClaim, anAlphaPool, anAlphaSandbox, anAlphaTemplate } from "./versions.ts";

/** Runs a phase of the migration, whose waits take no time. Returns whether the upgrade can continue, and the output. */
export async function run(client: KubeClient, ...flags: readonly string[]) {
  const clock = new FakeClock();
  const running = runBy(clock, client, ...flags);
  let hasEnded = false;
  const note = () => {
    hasEnded = true;
  };
  running.then(note, note);
  // As long as a test may take: this many requests take seconds on a busy machine.
  await eventually(async () => {
    await clock.advanceToNext();
    return hasEnded;
  }, 25_000);
  return running;
}

/** The same with the clock of the test. */
export async function runBy(clock: Clock, client: KubeClient, ...flags: readonly string[]) {
  const said: string[] = [];
  const world = { client, clock, say: (line: string) => void said.push(line) };
  const fine = await runMigration(parseMigrateConfig(flags), world, new AbortController().signal);
  return { fine, said };
}

/** One object of each kind, in the older version. */
export async function fill(client: KubeClient, namespace = "default"): Promise<void> {
  const named = (name: string) => ({ metadata: { name, namespace } });
  await client.create(sandboxTemplateV1alpha1Type, { ...anAlphaTemplate(), ...named("my-template") });
  await client.create(sandboxWarmPoolV1alpha1Type, { ...anAlphaPool(), ...named("my-pool") });
  await client.create(sandboxV1alpha1Type, { ...anAlphaSandbox({ replicas: 0 }), ...named("nova") });
  await client.create(sandboxClaimV1alpha1Type, { ...anAlphaClaim(), ...named("cold") });
}

/** A Pod of an existing sandbox, whose owner reference has that version: objects with a missing owner are deleted. */
export async function makePodOf(client: KubeClient, sandbox: string, version: string): Promise<void> {
  const { uid } = (await client.get(sandboxType, { namespace: "default", name: sandbox })).metadata;
  const owner = { apiVersion: `agents.x-k8s.io/${version}`, kind: "Sandbox", name: sandbox, uid };
  const metadata = { name: `made-in-${version}`, namespace: "default", ownerReferences: [owner] };
  await client.create(podType, { metadata, spec: { containers: [{ name: "main", image: "busybox:1.36" }] } });
}

/** The definitions of the four kinds. The API server has that of MemoryImages too, which no other product has. */
export async function listDefinitions(client: KubeClient) {
  const { items } = await client.list(customResourceDefinitionType);
  return items.filter(({ metadata }) => metadata.name.endsWith("agents.x-k8s.io"));
}

/** The versions of each of the four definitions. */
export const versionsOf = async (client: KubeClient) =>
  (await listDefinitions(client)).map(({ spec }) => (spec?.versions ?? []) as readonly Version[]);

/** The storage version of each of the four definitions. */
export const storedIn = async (client: KubeClient) =>
  (await versionsOf(client)).map((versions) => versions.find(({ storage }) => storage)?.name);
