import { describe, expect, it, vi } from "vitest";
import type { ContractApi, OpenContractApi } from "./contract-api.ts";
import { aConfigMap, aPod, aSandbox, configMapsOf, podsOf, sandboxesOf } from "./subjects.ts";

const merge = "application/merge-patch+json";

async function create(api: ContractApi, name: string, metadata: object = {}) {
  const body = { ...aConfigMap(name), metadata: { name, ...metadata } };
  return (await api.call("POST", configMapsOf(api), { body })).object;
}

/** An owner `a`, and a dependent `b` that blocks the deletion of its owner if requested. */
async function createFamily(api: ContractApi) {
  const owner = await create(api, "a");
  const reference = {
    apiVersion: "v1",
    kind: "ConfigMap",
    name: "a",
    uid: owner.metadata.uid,
    blockOwnerDeletion: true,
  };
  return { owner, dependent: await create(api, "b", { ownerReferences: [reference] }), reference };
}

const stateOf = async (api: ContractApi, name: string) => api.call("GET", `${configMapsOf(api)}/${name}`);

/** The time limit for garbage collection, which takes long on a busy cluster. */
const collected = { timeout: 45_000, interval: 20 };

const becomes = (api: ContractApi, name: string, code: number) =>
  vi.waitFor(async () => expect((await stateOf(api, name)).code).toBe(code), collected);

export function describeDeleting(where: string, open: OpenContractApi): void {
  describe(`deleting from ${where}`, () => {
    it("answers with a Status that names the deleted object", async () => {
      await using api = await open();
      const { object } = await api.call("POST", sandboxesOf(api), { body: aSandbox("a") });
      const { code, status } = await api.call("DELETE", `${sandboxesOf(api)}/a`);
      expect(code).toBe(200);
      expect(status).toMatchObject({
        kind: "Status",
        status: "Success",
        details: { name: "a", group: "agents.x-k8s.io", kind: "sandboxes", uid: object.metadata.uid },
      });
      expect((await api.call("GET", `${sandboxesOf(api)}/a`)).code).toBe(404);
    });

    it("deletes nothing if the uid does not match, with or without a content type", async () => {
      await using api = await open();
      const { metadata } = await create(api, "a");
      const body = JSON.stringify({ preconditions: { uid: "11111111-2222-3333-4444-555555555555" } });
      for (const contentType of [null, "application/json"]) {
        const { code, status } = await api.call("DELETE", `${configMapsOf(api)}/a`, { body, contentType });
        expect(code).toBe(409);
        expect(status.reason).toBe("Conflict");
        expect(status.message).toContain(
          `the UID in the precondition (11111111-2222-3333-4444-555555555555) does not match the UID in record (${metadata.uid})`,
        );
      }
      expect((await stateOf(api, "a")).code).toBe(200);
    });

    it("deletes nothing if the resourceVersion does not match", async () => {
      await using api = await open();
      const { metadata } = await create(api, "a");
      const path = `${configMapsOf(api)}/a`;
      const old = await api.call("DELETE", path, { body: { preconditions: { resourceVersion: "1" } } });
      expect(old.code).toBe(409);
      const { resourceVersion } = metadata;
      expect((await api.call("DELETE", path, { body: { preconditions: { resourceVersion } } })).code).toBe(200);
    });

    it("keeps an object until its last finalizer is removed", async () => {
      await using api = await open();
      await create(api, "a", { finalizers: ["rouse.dev/one", "rouse.dev/two"] });
      const path = `${configMapsOf(api)}/a`;
      const { object } = await api.call("DELETE", path);
      expect(object.metadata.deletionTimestamp).toBeTruthy();
      const finalizers = (list: string[]) =>
        api.call("PATCH", path, { body: { metadata: { finalizers: list } }, contentType: merge });
      const added = await finalizers(["rouse.dev/one", "rouse.dev/two", "rouse.dev/three"]);
      expect(added.code).toBe(422);
      expect(added.status.message).toContain(
        'no new finalizers can be added if the object is being deleted, found new finalizers []string{"rouse.dev/three"}',
      );
      await finalizers(["rouse.dev/two"]);
      expect((await stateOf(api, "a")).code).toBe(200);
      expect((await finalizers([])).code).toBe(200);
      expect((await stateOf(api, "a")).code).toBe(404);
    });

    it("deletes the dependents of a deleted owner", async () => {
      await using api = await open();
      await createFamily(api);
      await api.call("DELETE", `${configMapsOf(api)}/a`);
      expect((await stateOf(api, "a")).code).toBe(404);
      await becomes(api, "b", 404);
    });

    it("deletes an object whose owner never existed", async () => {
      await using api = await open();
      const uid = "11111111-2222-3333-4444-555555555555";
      await create(api, "b", { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid }] });
      await becomes(api, "b", 404);
    });

    it("keeps a dependent until its last owner is deleted, and removes references to the others", async () => {
      await using api = await open();
      const { owner, reference } = await createFamily(api);
      const other = await create(api, "c");
      const further = { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: other.metadata.uid };
      const body = { metadata: { ownerReferences: [{ ...reference, controller: true }, further] } };
      await api.call("PATCH", `${configMapsOf(api)}/b`, { body, contentType: merge });
      await api.call("DELETE", `${configMapsOf(api)}/a`, { body: { preconditions: { uid: owner.metadata.uid } } });
      const ownersOf = async () => (await stateOf(api, "b")).object.metadata.ownerReferences;
      await vi.waitFor(async () => expect(await ownersOf()).toEqual([further]), collected);
      await api.call("DELETE", `${configMapsOf(api)}/c`);
      await becomes(api, "b", 404);
    });

    it("keeps an owner until its dependents are deleted, with foreground deletion", async () => {
      await using api = await open();
      const { reference } = await createFamily(api);
      await create(api, "c", { ownerReferences: [reference], finalizers: ["rouse.dev/wait"] });
      await api.call("DELETE", `${configMapsOf(api)}/a`, { body: { propagationPolicy: "Foreground" } });
      await becomes(api, "b", 404);
      const owner = await stateOf(api, "a");
      expect(owner.object.metadata.finalizers).toContain("foregroundDeletion");
      await vi.waitFor(
        async () => expect((await stateOf(api, "c")).object.metadata.deletionTimestamp).toBeTruthy(),
        collected,
      );
      const body = { metadata: { finalizers: null } };
      await api.call("PATCH", `${configMapsOf(api)}/c`, { body, contentType: merge });
      await becomes(api, "a", 404);
    });

    it("deletes objects that own each other in a cycle, with foreground deletion", async () => {
      await using api = await open();
      const { dependent, reference } = await createFamily(api);
      const owned = ({ metadata: { name, uid } }: typeof dependent) => ({
        ownerReferences: [{ ...reference, name, uid }],
      });
      const last = await create(api, "c", owned(dependent));
      const body = { metadata: owned(last) };
      await api.call("PATCH", `${configMapsOf(api)}/a`, { body, contentType: merge });
      await api.call("DELETE", `${configMapsOf(api)}/a`, { body: { propagationPolicy: "Foreground" } });
      for (const name of ["a", "b", "c"]) await becomes(api, name, 404);
    });

    it("keeps the dependents with orphan deletion", async () => {
      await using api = await open();
      await createFamily(api);
      await api.call("DELETE", `${configMapsOf(api)}/a?propagationPolicy=Orphan`);
      await becomes(api, "a", 404);
      const dependent = await stateOf(api, "b");
      expect(dependent.code).toBe(200);
      expect(dependent.object.metadata.ownerReferences ?? []).toEqual([]);
    });

    it("removes a Pod without a node at once, and answers with it", async () => {
      await using api = await open();
      await api.call("POST", podsOf(api), { body: aPod("p") });
      const { code, object } = await api.call("DELETE", `${podsOf(api)}/p`);
      expect(code).toBe(200);
      expect(object).toMatchObject({ kind: "Pod", metadata: { name: "p" } });
      expect((await api.call("GET", `${podsOf(api)}/p`)).code).toBe(404);
    });

    it("gives a Pod on a node its grace period", async () => {
      await using api = await open();
      const pod = aPod("p", { nodeName: "no-such-node", terminationGracePeriodSeconds: 7 });
      await api.call("POST", podsOf(api), { body: pod });
      const { object } = await api.call("DELETE", `${podsOf(api)}/p`);
      expect(object.metadata).toMatchObject({ deletionGracePeriodSeconds: 7, deletionTimestamp: expect.any(String) });
      expect((await api.call("GET", `${podsOf(api)}/p`)).code).toBe(200);
      await api.call("DELETE", `${podsOf(api)}/p`, { body: { gracePeriodSeconds: 0 } });
      expect((await api.call("GET", `${podsOf(api)}/p`)).code).toBe(404);
    });

    it("deletes a Pod whose grace ends after the year 9999", async () => {
      await using api = await open();
      const grace = { terminationGracePeriodSeconds: 9_000_000_000_000 };
      await api.call("POST", podsOf(api), {
        body: aPod("p", { nodeName: "no-such-node", ...grace }),
      });
      const { code, object } = await api.call("DELETE", `${podsOf(api)}/p`);
      expect(code).toBe(200);
      expect(object.metadata.deletionTimestamp).toMatch(/^\d{4}-/);
      await api.call("DELETE", `${podsOf(api)}/p`, { body: { gracePeriodSeconds: 0 } });
      expect((await api.call("GET", `${podsOf(api)}/p`)).code).toBe(404);
    });

    it("deletes the selected part of a collection", async () => {
      await using api = await open();
      await create(api, "a", { labels: { color: "red" } });
      await create(api, "b");
      expect((await api.call("DELETE", `${configMapsOf(api)}?labelSelector=color%3Dred`)).code).toBe(200);
      expect((await stateOf(api, "a")).code).toBe(404);
      expect((await stateOf(api, "b")).code).toBe(200);
    });

    it("deletes nothing in a dry run", async () => {
      await using api = await open();
      await create(api, "a");
      expect((await api.call("DELETE", `${configMapsOf(api)}/a?dryRun=All`)).code).toBe(200);
      expect((await stateOf(api, "a")).code).toBe(200);
    });

    it("deletes all objects of a deleted namespace, and accepts no new ones", async () => {
      await using api = await open();
      await create(api, "a", { finalizers: ["rouse.dev/wait"] });
      await create(api, "b");
      const path = `/api/v1/namespaces/${api.namespace}`;
      const { object } = await api.call("DELETE", path);
      expect(object).toMatchObject({ status: { phase: "Terminating" } });
      const { code, status } = await api.call("POST", configMapsOf(api), { body: aConfigMap("c") });
      expect(code).toBe(403);
      expect(status.details?.causes).toMatchObject([{ reason: "NamespaceTerminating" }]);
      expect(status.message).toContain(
        `unable to create new content in namespace ${api.namespace} because it is being terminated`,
      );
      await becomes(api, "b", 404);
      const body = { metadata: { finalizers: null } };
      await vi.waitFor(
        async () => expect((await stateOf(api, "a")).object.metadata.deletionTimestamp).toBeTruthy(),
        collected,
      );
      await api.call("PATCH", `${configMapsOf(api)}/a`, { body, contentType: merge });
      await vi.waitFor(async () => expect((await api.call("GET", path)).code).toBe(404), collected);
    });
  });
}
