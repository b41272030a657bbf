import { describe, expect, it } from "vitest";
import { podType, serviceType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import type { Action } from "../../controller/sandbox/actions.ts";
import { apply } from "../../controller/sandbox/apply/apply.ts";
import type { SandboxWriters } from "../../controller/sandbox/apply/sandbox-writers.ts";
import { Creations } from "../../controller/stores/creations.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { openMemoryApi } from "../support/memory-api.ts";

const metadata = { name: "nova", namespace: "default" };
const pod = { ...{ apiVersion: "v1", kind: "Pod" }, metadata, spec: { containers: [{ name: "main", image: "a" }] } };
const service = { ...{ apiVersion: "v1", kind: "Service" }, metadata, spec: { ports: [{ port: 80 }] } };

const store = {
  create: <R>(_key: string, call: () => Promise<R>) => call(),
  write: <R>(_key: string, call: () => Promise<R>) => call(),
};
const trace = {
  claims: <R>(run: () => Promise<R>) => run(),
  pod: <R>(run: () => Promise<R>) => run(),
};

/** Applies actions to a sandbox, on an API server on which its children exist already. */
async function applied(...actions: readonly Action[]) {
  await using api = await openMemoryApi();
  const sandbox = await api.client.create(sandboxType, { metadata, spec: { podTemplate: { spec: pod.spec } } });
  await api.client.create(podType, pod);
  await api.client.create(serviceType, service);
  const stores = { sandboxes: store, pods: store, services: store, claims: store };
  const writers = { client: api.client, creations: new Creations(systemClock), ...stores } as unknown as SandboxWriters;
  return await apply(actions, { sandbox, trace } as never, writers, new AbortController().signal);
}

describe("the actions of a pass", () => {
  it.each<{ readonly what: string; readonly action: Action }>([
    { what: "Pod", action: { do: "createPod", pod } },
    { what: "Service", action: { do: "createService", service } },
  ])("ask for another look at the children if the $what exists already", async ({ action }) => {
    expect(await applied(action)).toEqual({ failures: [], podCreated: false, clashed: true, unfinished: false });
  });
});
