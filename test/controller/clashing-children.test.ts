import { describe, expect, it } from "vitest";
import { podType, serviceType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import type { Action } from "../../controller/sandbox/actions.ts";
import { apply } from "../../controller/sandbox/apply/apply.ts";
import type { SandboxWriters } from "../../controller/sandbox/apply/sandbox-writers.ts";
import { Creations } from "../../controller/stores/creations.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { noon } from "../support/builders/builders.ts";
import { interceptCalls } from "../support/fakes/intercepted-client.ts";
import { openMemoryApi } from "../support/memory-api.ts";

const metadata = { name: "nova", namespace: "default" };
const pod = { ...{ apiVersion: "v1", kind: "Pod" }, metadata, spec: { containers: [{ name: "main", image: "a" }] } };
const service = { ...{ apiVersion: "v1", kind: "Service" }, metadata, spec: { ports: [{ port: 80 }] } };

const store = {
  read: <R>(_key: string, call: () => Promise<R>) => call(),
  delete: (_object: unknown, call: () => Promise<void>) => call(),
  create: <R>(_key: string, call: () => Promise<R>) => call(),
  write: <R>(_key: string, call: () => Promise<R>) => call(),
};
const trace = {
  claims: <R>(run: () => Promise<R>) => run(),
  pod: <R>(run: () => Promise<R>) => run(),
};

const denied = new ApiError(403, {
  ...{ apiVersion: "v1", kind: "Status", code: 403, reason: "Forbidden" },
  message: "it is to be kept",
});

/** Applies actions to a sandbox, on an API server on which its children exist already, and where none may be deleted. */
async function applied(...actions: readonly Action[]) {
  await using api = await openMemoryApi();
  const calls: string[] = [];
  const client = interceptCalls(api.client, (call, proceed) => {
    calls.push(`${call.verb} ${call.kind}`);
    return call.verb === "delete" ? Promise.reject(denied) : proceed();
  });
  const sandbox = await api.client.create(sandboxType, { metadata, spec: { podTemplate: { spec: pod.spec } } });
  await api.client.create(podType, pod);
  await api.client.create(serviceType, service);
  const stores = { sandboxes: store, pods: store, services: store, claims: store };
  const writers = { client, creations: new Creations(systemClock), ...stores } as unknown as SandboxWriters;
  const result = await apply(actions, { sandbox, trace } as never, writers, new AbortController().signal);
  return { result, calls };
}

describe("the actions of a pass", () => {
  it.each<{ readonly what: string; readonly action: Action }>([
    { what: "Pod", action: { do: "createPod", pod } },
    { what: "Service", action: { do: "createService", service } },
  ])("ask for another look at the children if the $what exists already", async ({ action }) => {
    const { result } = await applied(action);
    expect(result).toEqual({ failures: [], podCreated: false, clashed: true, unfinished: false });
  });

  it("create no Service in place of one that could not be deleted", async () => {
    const old = { ...service, metadata: { ...metadata, uid: "1", resourceVersion: "1", creationTimestamp: noon } };
    const { result, calls } = await applied({ do: "deleteService", service: old }, { do: "createService", service });
    expect(calls).toEqual(["get Sandbox", "delete Service"]);
    expect(result.failures).toMatchObject([{ action: { do: "deleteService" }, message: denied.message }]);
  });
});
