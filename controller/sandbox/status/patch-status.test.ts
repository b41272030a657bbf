import { describe, expect, it } from "vitest";
import { type Condition, type ConditionStatus, keyOf, type Stored } from "../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { isConflict, isInvalid, isRejected } from "../../../kube/client/errors.ts";
import { startInformer } from "../../../kube/informer/start-informer.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { aborted } from "../../../lib/process/lifecycle.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { interceptCalls } from "../../../test/support/fakes/intercepted-client.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { OwnWrites } from "../../own-writes.ts";
import { patchStatus } from "./patch-status.ts";

const at = { namespace: "default", name: "nova" };
const sandbox: Sandbox = {
  metadata: at,
  spec: { podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }] } } },
};
const status = { serviceFQDN: "nova.example" };
const { signal } = new AbortController();
const aCondition = (type: string, is: ConditionStatus): Condition => ({
  ...{ type, status: is, reason: "Known", message: "", observedGeneration: 1 },
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

/** A status is about to be written to the first object; `meanwhile` happens before the server has the patch. */
async function writeLate(
  meanwhile: (api: Awaited<ReturnType<typeof openMemoryApi>>) => Promise<unknown>,
  {
    isDeaf = false,
    before,
    after,
  }: { isDeaf?: boolean; before?: readonly Condition[]; after?: readonly Condition[] } = {},
) {
  await using stack = new AsyncDisposableStack();
  const api = stack.use(await openMemoryApi());
  let calls = 0;
  const client = interceptCalls(api.client, async ({ verb, subresource }, proceed) => {
    if (verb !== "patch" || subresource !== "status") return proceed();
    calls += 1;
    await meanwhile(api);
    return proceed();
  });
  const created = await api.client.create(sandboxType, sandbox);
  const had = { type: "merge", body: { status: { conditions: before } } } as const;
  const first = before ? await api.client.patch(sandboxType, at, had, { subresource: "status" }) : created;
  const watching = {
    ...api.client,
    ...(isDeaf && { watch: (_type: unknown, _options: unknown, signal: AbortSignal) => silence(signal) }),
  };
  const base = { client: watching, clock: systemClock, log: silentLogger, indexes: {}, type: sandboxType };
  const informer = stack.use(startInformer<Sandbox>(base));
  await informer.synced;
  const store = stack.use(new OwnWrites(informer, systemClock));
  const wanted = after ? { conditions: after } : status;
  const written = patchStatus<Sandbox>(first, wanted, { client, type: sandboxType, store, signal });
  const [result, error] = await written.then(
    (is) => [is, undefined],
    (cause: unknown) => [undefined, cause],
  );
  const shown = store.get(keyOf(first));
  const now: Stored<Sandbox> | undefined = await api.client.get(sandboxType, at).catch(() => undefined);
  return { first, now, result, error, calls, shown };
}

/** A watch that never says anything. */
async function* silence(until: AbortSignal): AsyncGenerator<never> {
  yield* [];
  await aborted(until);
}

describe("a status", () => {
  it("stays off an object that has the name since", async () => {
    const { first, now, error } = await writeLate(async ({ client }) => {
      await client.delete(sandboxType, at);
      await client.create(sandboxType, sandbox);
    });
    expect(now?.metadata.uid).not.toBe(first.metadata.uid);
    expect(now?.status).toBeUndefined();
    expect(error).toBeUndefined();
  });

  it("is not needed by an object that is gone, which is not shown any more though its watch is silent", async () => {
    const { result, shown } = await writeLate(({ client }) => client.delete(sandboxType, at), { isDeaf: true });
    expect([result, shown]).toEqual(["gone", undefined]);
  });

  it("is written though another client changes the object meanwhile", async () => {
    let edits = 0;
    const { now, calls } = await writeLate(async ({ client }) => {
      edits += 1;
      if (edits < 3) {
        const body = { metadata: { labels: { edit: String(edits) } } };
        await client.patch(sandboxType, at, { type: "merge", body });
      }
    });
    expect(now?.status).toEqual(status);
    expect(now?.metadata.labels).toEqual({ edit: "2" });
    expect(calls).toBe(3);
  });

  it("keeps conditions that another client writes meanwhile, and has our own as they were decided", async () => {
    const before = [aCondition("Ready", "False"), aCondition("Finished", "True"), aCondition("Audited", "False")];
    const after = [aCondition("Ready", "True"), aCondition("Audited", "False"), aCondition("Suspended", "False")];
    const ofAuditors = [before[0], before[1], aCondition("Audited", "True"), aCondition("Scanned", "True")];
    let isAudited = false;
    const { now, error, calls } = await writeLate(
      async ({ client }) => {
        if (isAudited) return;
        isAudited = true;
        const body = { status: { conditions: ofAuditors } };
        await client.patch(sandboxType, at, { type: "merge", body }, { subresource: "status" });
      },
      { before, after },
    );
    expect([error, calls]).toEqual([undefined, 2]);
    const written = now?.status?.conditions?.map(({ type, status }) => `${type}=${status}`);
    expect(written).toEqual(["Ready=True", "Audited=True", "Scanned=True", "Suspended=False"]);
  });

  it("is given up for now when the object keeps changing", async () => {
    let edits = 0;
    const { error, calls } = await writeLate(async ({ client }) => {
      edits += 1;
      const body = { metadata: { labels: { edit: String(edits) } } };
      await client.patch(sandboxType, at, { type: "merge", body });
    });
    expect(isConflict(error)).toBe(true);
    expect(calls).toBe(5);
  });

  it("is not needed by an object that is gone", async () => {
    const { error } = await writeLate(({ client }) => client.delete(sandboxType, at));
    expect(error).toBeUndefined();
  });
});

it("a patch with the uid of a former object is a conflict, and not refused for what it says", async () => {
  await using api = await openMemoryApi();
  await api.client.create(sandboxType, sandbox);
  const body = { metadata: { uid: "former", labels: { a: "b" } } };
  const error = await api.client.patch(sandboxType, at, { type: "merge", body }).catch((cause: unknown) => cause);
  expect([isConflict, isInvalid, isRejected].map((is) => is(error))).toEqual([true, false, false]);
});
