import { describe, expect, it } from "vitest";
import type { ContractApi, OpenContractApi } from "./contract-api.ts";
import { aConfigMap, aPod, aSandbox, configMapsOf, podsOf, sandboxesOf } from "./subjects.ts";

const merge = "application/merge-patch+json";
const json = "application/json-patch+json";
const strategic = "application/strategic-merge-patch+json";

async function openWithConfigMap(open: OpenContractApi) {
  const api = await open();
  await api.call("POST", configMapsOf(api), { body: aConfigMap("a") });
  const patch = (contentType: string, body: unknown) =>
    api.call("PATCH", `${configMapsOf(api)}/a`, { body, contentType });
  return { patch, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
}

async function withPod(api: ContractApi, spec: object = {}) {
  await api.call("POST", podsOf(api), { body: aPod("p", spec) });
  const patch = (body: unknown) => api.call("PATCH", `${podsOf(api)}/p`, { body, contentType: strategic });
  return patch;
}

export function describePatching(where: string, open: OpenContractApi): void {
  describe(`patching in ${where}`, () => {
    it("merges objects key by key, and null removes", async () => {
      await using a = await openWithConfigMap(open);
      const { code, object } = await a.patch(merge, { data: { color: null, shape: "round" } });
      expect(code).toBe(200);
      expect(object["data"]).toEqual({ shape: "round" });
    });

    it("rejects a merge patch with another resourceVersion", async () => {
      await using a = await openWithConfigMap(open);
      const { code, status } = await a.patch(merge, { metadata: { resourceVersion: "1" }, data: { color: "red" } });
      expect(code).toBe(409);
      expect(status.reason).toBe("Conflict");
    });

    it("rejects a merge patch with another uid", async () => {
      await using a = await openWithConfigMap(open);
      const { code, status } = await a.patch(merge, { metadata: { uid: "another" }, data: { color: "red" } });
      expect(code).toBe(422);
      expect(status.message).toBe(
        'ConfigMap "a" is invalid: metadata.uid: Invalid value: "another": field is immutable',
      );
    });

    it("performs the operations of a JSON patch", async () => {
      await using a = await openWithConfigMap(open);
      const { object } = await a.patch(json, [
        { op: "test", path: "/data/color", value: "blue" },
        { op: "replace", path: "/data/color", value: "red" },
        { op: "add", path: "/metadata/labels", value: {} },
        { op: "add", path: "/metadata/labels/rouse.dev~1kind", value: "test" },
      ]);
      expect(object).toMatchObject({ data: { color: "red" }, metadata: { labels: { "rouse.dev/kind": "test" } } });
    });

    it("changes nothing if one operation of a JSON patch fails", async () => {
      await using a = await openWithConfigMap(open);
      const { code, status } = await a.patch(json, [
        { op: "replace", path: "/data/color", value: "red" },
        { op: "test", path: "/data/color", value: "green" },
      ]);
      expect(code).toBe(422);
      expect(status).toMatchObject({
        reason: "Invalid",
        message: "the server rejected our request due to an error in our request",
      });
      expect((await a.patch(merge, {})).object["data"]).toEqual({ color: "blue" });
    });

    it("rejects a JSON patch whose copies add more than 3 MiB", async () => {
      await using a = await openWithConfigMap(open);
      const copies = (count: number) => [
        { op: "add", path: "/data/text", value: "x".repeat(1_000_000) },
        ...Array.from({ length: count }, () => ({ op: "copy", from: "/data/text", path: "/data/copy" })),
        { op: "remove", path: "/data/copy" },
      ];
      expect((await a.patch(json, copies(3))).code).toBe(200);
      const { code, status } = await a.patch(json, copies(4));
      expect({ code, reason: status.reason }).toEqual({ code: 422, reason: "Invalid" });
    });

    it("takes an absent field for null in a test of a JSON patch, and adds one that is replaced", async () => {
      await using a = await openWithConfigMap(open);
      const absent = { op: "test", path: "/metadata/annotations", value: null };
      const replace = { op: "replace", path: "/data/toString", value: "text" };
      expect((await a.patch(json, [absent, replace])).object["data"]).toEqual({ color: "blue", toString: "text" });
      const below = { op: "test", path: "/metadata/annotations/a", value: null };
      expect((await a.patch(json, [below])).code).toBe(422);
    });

    it("finds no inherited names in a JSON patch", async () => {
      await using a = await openWithConfigMap(open);
      for (const operation of [
        { op: "add", path: "/data/toString/length", value: "1" },
        { op: "remove", path: "/data/valueOf" },
      ]) {
        expect({ operation, code: (await a.patch(json, [operation])).code }).toEqual({ operation, code: 422 });
      }
    });

    it("takes no other key of a list in a JSON patch than an index", async () => {
      await using a = await openWithConfigMap(open);
      const list = { op: "add", path: "/metadata/finalizers", value: ["x.dev/a"] };
      for (const key of ["length", "-", "foo", "0x0", "__proto__", "1"]) {
        const operation = { op: "replace", path: `/metadata/finalizers/${key}`, value: 4_294_967_295 };
        expect({ key, code: (await a.patch(json, [list, operation])).code }).toEqual({ key, code: 422 });
      }
    });

    it("merges the lists of built-in kinds by their keys", async () => {
      await using api = await open();
      const patch = await withPod(api);
      const condition = { type: "rouse.dev/Awake", status: "True", reason: "Woken" };
      const path = `${podsOf(api)}/p/status`;
      const patchStatus = (body: object) => api.call("PATCH", path, { body, contentType: strategic });
      await patchStatus({ status: { conditions: [condition] } });
      const other = { type: "rouse.dev/Other", status: "False" };
      const { object } = await patchStatus({ status: { conditions: [other] } });
      const { conditions } = object["status"] as { readonly conditions: readonly object[] };
      expect(conditions).toContainEqual(expect.objectContaining(condition));
      expect(conditions).toContainEqual(expect.objectContaining(other));
      const image = await patch({ spec: { containers: [{ name: "main", image: "busybox:2" }] } });
      expect(image.object["spec"]).toMatchObject({
        containers: [{ name: "main", image: "busybox:2", command: ["sleep", "3600"] }],
      });
    });

    it("removes items by a directive", async () => {
      await using api = await open();
      await api.call("POST", configMapsOf(api), {
        body: { metadata: { name: "a", finalizers: ["x.dev/a", "x.dev/b"] } },
      });
      const path = `${configMapsOf(api)}/a`;
      const body = { metadata: { "$deleteFromPrimitiveList/finalizers": ["x.dev/a"] } };
      const { object } = await api.call("PATCH", path, { body, contentType: strategic });
      expect(object.metadata.finalizers).toEqual(["x.dev/b"]);
      await api.call("PATCH", path, { body: { metadata: { finalizers: null } }, contentType: merge });
    });

    it("rejects a strategic merge patch of a custom kind", async () => {
      await using api = await open();
      await api.call("POST", sandboxesOf(api), { body: aSandbox("a") });
      const path = `${sandboxesOf(api)}/a`;
      const { code, status } = await api.call("PATCH", path, { body: {}, contentType: strategic });
      expect(code).toBe(415);
      expect(status.reason).toBe("UnsupportedMediaType");
      expect(status.message).toContain(
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json",
      );
    });

    it("ignores another uid in a patch of the status of a custom resource, and rejects it beside the status", async () => {
      await using api = await open();
      await api.call("POST", sandboxesOf(api), { body: aSandbox("a") });
      const path = `${sandboxesOf(api)}/a`;
      const metadata = { uid: "another" };
      const status = { serviceFQDN: "a.example" };
      const ignored = await api.call("PATCH", `${path}/status`, { body: { metadata, status }, contentType: merge });
      expect({ code: ignored.code, status: ignored.object["status"] }).toEqual({ code: 200, status });
      const rejected = await api.call("PATCH", path, { body: { metadata }, contentType: merge });
      expect(rejected.code).toBe(422);
      expect(rejected.status.details?.causes).toContainEqual(expect.objectContaining({ field: "metadata.uid" }));
    });

    it("rejects a patch that makes the object invalid", async () => {
      await using api = await open();
      await api.call("POST", sandboxesOf(api), { body: aSandbox("a") });
      const body = { spec: { operatingMode: "Dreaming" } };
      const { code, status } = await api.call("PATCH", `${sandboxesOf(api)}/a`, { body, contentType: merge });
      expect(code).toBe(422);
      const cause = { reason: "FieldValueNotSupported", field: "spec.operatingMode" };
      expect(status.details?.causes).toContainEqual(expect.objectContaining(cause));
    });
  });
}
