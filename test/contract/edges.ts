import { describe, expect, it } from "vitest";
import type { ContractApi, OpenContractApi, OpenWatch } from "./contract-api.ts";
import { aConfigMap, aPod, aSandbox, configMapsOf, podsOf, sandboxesOf } from "./subjects.ts";

const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";

/** `DeleteOptions` in protobuf, with the uid of the object as a precondition. */
function deleteOptionsOf(uid: string): Uint8Array {
  const field = (number: number, value: string | Uint8Array) => {
    const bytes = typeof value === "string" ? Buffer.from(value) : value;
    return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
  };
  const typeMeta = Buffer.concat([field(1, "v1"), field(2, "DeleteOptions")]);
  return Buffer.concat([Buffer.from("k8s\0"), field(1, typeMeta), field(2, field(2, field(1, uid)))]);
}

const create = async (api: ContractApi, collection: string, body: object) =>
  (await api.call("POST", collection, { body })).object;

/** A watch of what happens in a collection after this version. */
const watchAfter = (api: ContractApi, collection: string, version: string | undefined): Promise<OpenWatch> =>
  api.watch(`${collection}?watch=1&resourceVersion=${version}`);

/** The next event of a watch: its type, and what a test reads of the object. */
async function next(watch: OpenWatch) {
  const { type, object } = (await watch.next()) ?? {};
  const { labels, finalizers, deletionGracePeriodSeconds } = object?.metadata ?? {};
  return { type, labels, finalizers, deletionGracePeriodSeconds };
}

/** Requests that only some clients send, and what the others of their kind are told. */
export function describeEdges(where: string, open: OpenContractApi): void {
  describeEnds(where, open);
  describeOptions(where, open);
  describeVersionsOfWrites(where, open);
  describeOddPatches(where, open);
}

function describeEnds(where: string, open: OpenContractApi): void {
  describe(`the end of an object of ${where}`, () => {
    it("shows watches the state before the patch that removes the last finalizer", async () => {
      await using api = await open();
      const metadata = { name: "a", labels: { color: "red" }, finalizers: ["rouse.dev/wait"] };
      await create(api, configMapsOf(api), aConfigMap("a", { metadata }));
      const path = `${configMapsOf(api)}/a`;
      const { object } = await api.call("DELETE", path);
      using watch = await watchAfter(api, configMapsOf(api), object.metadata.resourceVersion);
      const body = { metadata: { finalizers: null, labels: { color: "blue" } } };
      const patched = await api.call("PATCH", path, { body, contentType: merge });
      expect(patched.object.metadata.labels).toEqual({ color: "blue" });
      expect(patched.object.metadata.finalizers).toBeUndefined();
      const { type, labels, finalizers } = await next(watch);
      expect({ type, labels, finalizers }).toEqual({
        type: "DELETED",
        labels: { color: "red" },
        finalizers: ["rouse.dev/wait"],
      });
    });

    it.each([true, false])(
      "shows watches of a Pod that its grace is over, if it was terminating: %s",
      async (wasTerminating) => {
        await using api = await open();
        const pod = aPod("p", { nodeName: "no-such-node", terminationGracePeriodSeconds: 7 });
        const path = `${podsOf(api)}/p`;
        let { metadata } = await create(api, podsOf(api), pod);
        if (wasTerminating) ({ metadata } = (await api.call("DELETE", path)).object);
        using watch = await watchAfter(api, podsOf(api), metadata.resourceVersion);
        const { object } = await api.call("DELETE", path, { body: { gracePeriodSeconds: 0 } });
        expect(object.metadata.deletionGracePeriodSeconds).toBe(0);
        expect(await next(watch)).toMatchObject({ type: "MODIFIED", deletionGracePeriodSeconds: 0 });
        expect(await next(watch)).toMatchObject({ type: "DELETED", deletionGracePeriodSeconds: 0 });
      },
    );

    it("shows watches of a Pod without a node that its grace is over", async () => {
      await using api = await open();
      const { metadata } = await create(api, podsOf(api), aPod("p"));
      using watch = await watchAfter(api, podsOf(api), metadata.resourceVersion);
      await api.call("DELETE", `${podsOf(api)}/p`);
      expect(await next(watch)).toMatchObject({ type: "MODIFIED", deletionGracePeriodSeconds: 0 });
      expect(await next(watch)).toMatchObject({ type: "DELETED", deletionGracePeriodSeconds: 0 });
    });
  });
}

function describeOptions(where: string, open: OpenContractApi): void {
  describe(`the options of a deletion by ${where}`, () => {
    it.each([
      ["another kind", { apiVersion: "v1", kind: "Pod" }, 400],
      ["their own kind", { apiVersion: "v1", kind: "DeleteOptions" }, 200],
      ["two policies", { orphanDependents: true, propagationPolicy: "Orphan" }, 422],
    ])("that have %s get %3$i", async (_, body, expected) => {
      await using api = await open();
      await create(api, configMapsOf(api), aConfigMap("a"));
      expect((await api.call("DELETE", `${configMapsOf(api)}/a`, { body })).code).toBe(expected);
    });

    it("may come in protobuf, as from programs in Go", async () => {
      await using api = await open();
      const path = `${configMapsOf(api)}/a`;
      const metadata = { name: "a", finalizers: ["rouse.dev/wait"] };
      const { uid } = (await create(api, configMapsOf(api), aConfigMap("a", { metadata }))).metadata;
      const contentType = "application/vnd.kubernetes.protobuf";
      const wrong = await api.call("DELETE", path, { body: deleteOptionsOf("another"), contentType });
      expect(wrong.code).toBe(409);
      const deleted = await api.call("DELETE", path, { body: deleteOptionsOf(uid ?? ""), contentType });
      expect([deleted.code, deleted.object.metadata.deletionTimestamp]).toEqual([200, expect.any(String)]);
      const body = { metadata: { finalizers: null } };
      await api.call("PATCH", path, { body, contentType: merge });
    });

    it("may have a negative grace period in the query, and none in the body that is no number", async () => {
      await using api = await open();
      await create(api, configMapsOf(api), aConfigMap("a"));
      const path = `${configMapsOf(api)}/a?gracePeriodSeconds=`;
      expect((await api.call("DELETE", `${path}x`)).code).toBe(400);
      expect((await api.call("DELETE", `${path}-1`)).code).toBe(200);
    });
  });
}

function describeVersionsOfWrites(where: string, open: OpenContractApi): void {
  describe(`a replacement by ${where}`, () => {
    it.each([
      ["0", 200, 422],
      ["abc", 500, 500],
    ])(
      "under the resourceVersion %j gets %i for a ConfigMap, and %i for a Sandbox",
      async (resourceVersion, ...codes) => {
        await using api = await open();
        await create(api, configMapsOf(api), aConfigMap("a"));
        await create(api, sandboxesOf(api), aSandbox("a"));
        const metadata = { name: "a", resourceVersion };
        const replaced = await Promise.all([
          api.call("PUT", `${configMapsOf(api)}/a`, { body: { ...aConfigMap("a"), metadata, data: {} } }),
          api.call("PUT", `${sandboxesOf(api)}/a`, { body: { ...aSandbox("a"), metadata } }),
        ]);
        expect(replaced.map(({ code }) => code)).toEqual(codes);
      },
    );

    it("may lower the activeDeadlineSeconds of a Pod, and neither raise nor remove it", async () => {
      await using api = await open();
      await create(api, podsOf(api), aPod("p"));
      const patched = async (activeDeadlineSeconds: number | null) => {
        const request = { body: { spec: { activeDeadlineSeconds } }, contentType: merge };
        const { code, status } = await api.call("PATCH", `${podsOf(api)}/p`, request);
        return code === 200 ? code : `${code} ${status.message}`;
      };
      expect(await patched(50)).toBe(200);
      expect(await patched(60)).toContain("must be less than or equal to previous value");
      expect(await patched(null)).toContain("must not update from a positive integer to nil value");
      expect(await patched(40)).toBe(200);
    });
  });
}

function describeOddPatches(where: string, open: OpenContractApi): void {
  describe(`null and order at ${where}`, () => {
    it("reads null as the empty text in annotations and in the data of a ConfigMap", async () => {
      await using api = await open();
      const metadata = { name: "a", annotations: { a: null } };
      const sandbox = await create(api, sandboxesOf(api), { ...aSandbox("a"), metadata });
      expect(sandbox.metadata.annotations).toEqual({ a: "" });
      const map = await create(api, configMapsOf(api), { ...aConfigMap("a"), metadata, data: { a: null } });
      expect(map).toMatchObject({ metadata: { annotations: { a: "" } }, data: { a: "" } });
    });

    it("puts what a strategic patch adds to a list before what was there", async () => {
      await using api = await open();
      await create(api, configMapsOf(api), aConfigMap("a"));
      const patched = async (finalizers: readonly string[], rest: object = {}) => {
        const request = { body: { metadata: { finalizers, ...rest } }, contentType: strategic };
        return (await api.call("PATCH", `${configMapsOf(api)}/a`, request)).object.metadata.finalizers;
      };
      expect(await patched(["rouse.dev/c"])).toEqual(["rouse.dev/c"]);
      expect(await patched(["rouse.dev/d"])).toEqual(["rouse.dev/d", "rouse.dev/c"]);
      expect(await patched(["rouse.dev/c", "rouse.dev/e"])).toEqual(["rouse.dev/d", "rouse.dev/c", "rouse.dev/e"]);
      expect(await patched(["rouse.dev/f", "rouse.dev/d"])).toEqual([
        ...["rouse.dev/f", "rouse.dev/d", "rouse.dev/c", "rouse.dev/e"],
      ]);
      const order = { "$setElementOrder/finalizers": ["rouse.dev/e", "rouse.dev/g", "rouse.dev/d"] };
      expect(await patched(["rouse.dev/g"], order)).toEqual([
        ...["rouse.dev/f", "rouse.dev/c", "rouse.dev/e", "rouse.dev/g", "rouse.dev/d"],
      ]);
      await api.call("PATCH", `${configMapsOf(api)}/a`, {
        body: { metadata: { finalizers: null } },
        contentType: merge,
      });
    });

    it("puts a condition that a strategic patch adds before those that were there", async () => {
      await using api = await open();
      await create(api, podsOf(api), aPod("p"));
      const patched = async (...types: readonly string[]) => {
        const body = { status: { conditions: types.map((type) => ({ type, status: "True" })) } };
        const { object } = await api.call("PATCH", `${podsOf(api)}/p/status`, { body, contentType: strategic });
        const { conditions } = object["status"] as { readonly conditions: readonly { readonly type: string }[] };
        return conditions.map(({ type }) => type);
      };
      expect(await patched("rouse.dev/a")).toEqual(["rouse.dev/a"]);
      expect(await patched("rouse.dev/b")).toEqual(["rouse.dev/b", "rouse.dev/a"]);
      expect(await patched("rouse.dev/a", "rouse.dev/c")).toEqual(["rouse.dev/b", "rouse.dev/a", "rouse.dev/c"]);
    });
  });
}
