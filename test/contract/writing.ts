import { describe, expect, it } from "vitest";
import type { OpenContractApi } from "./contract-api.ts";
import { aConfigMap, aPod, aSandbox, configMapsOf, podsOf, sandboxesOf } from "./subjects.ts";

export function describeWriting(where: string, open: OpenContractApi): void {
  describe(`writing to ${where}`, () => {
    it("gives a created object its identity", async () => {
      await using api = await open();
      const { code, object } = await api.call("POST", configMapsOf(api), { body: aConfigMap("a") });
      expect(code).toBe(201);
      expect(object).toMatchObject({ kind: "ConfigMap", apiVersion: "v1", data: { color: "blue" } });
      expect(object.metadata).toMatchObject({
        name: "a",
        namespace: api.namespace,
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        resourceVersion: expect.stringMatching(/^\d+$/),
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      });
      expect((await api.call("GET", `${configMapsOf(api)}/a`)).object).toEqual(object);
    });

    it("generates a name from generateName", async () => {
      await using api = await open();
      const { object } = await api.call("POST", configMapsOf(api), { body: { metadata: { generateName: "job-" } } });
      expect(object.metadata.name).toMatch(/^job-[bcdfghjklmnpqrstvwxz2-9]{5}$/);
    });

    it("ignores fields that only the server may set", async () => {
      await using api = await open();
      const metadata = { name: "a", uid: "mine", creationTimestamp: "2001-01-01T00:00:00Z", generation: 7 };
      const { object } = await api.call("POST", sandboxesOf(api), { body: { ...aSandbox("a"), metadata } });
      expect(object.metadata.uid).not.toBe("mine");
      expect(object.metadata.creationTimestamp).not.toBe("2001-01-01T00:00:00Z");
      expect(object.metadata.generation).toBe(1);
    });

    it("parses a body without a content type as JSON", async () => {
      await using api = await open();
      const request = { body: JSON.stringify(aConfigMap("a")), contentType: null };
      expect((await api.call("POST", configMapsOf(api), request)).code).toBe(201);
    });

    it("accepts YAML", async () => {
      await using api = await open();
      const body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  color: red\n";
      const { object } = await api.call("POST", configMapsOf(api), { body, contentType: "application/yaml" });
      expect(object["data"]).toEqual({ color: "red" });
    });

    it("answers in JSON to a client that prefers protobuf", async () => {
      await using api = await open();
      const headers = { accept: "application/vnd.kubernetes.protobuf;q=0,application/json" };
      expect((await api.call("GET", sandboxesOf(api), { headers })).list.items).toEqual([]);
    });

    it("replaces an object with the resourceVersion that was read, and rejects an older one", async () => {
      await using api = await open();
      const { object: first } = await api.call("POST", configMapsOf(api), { body: aConfigMap("a") });
      const path = `${configMapsOf(api)}/a`;
      const second = await api.call("PUT", path, { body: { ...first, data: { color: "red" } } });
      expect(second.code).toBe(200);
      expect(second.object.metadata.resourceVersion).not.toBe(first.metadata.resourceVersion);
      expect(second.object.metadata.uid).toBe(first.metadata.uid);
      const third = await api.call("PUT", path, { body: { ...first, data: { color: "green" } } });
      expect(third.code).toBe(409);
      expect(third.status).toMatchObject({
        reason: "Conflict",
        message:
          'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
        details: { name: "a", kind: "configmaps" },
      });
    });

    it("replaces a built-in object without a resourceVersion, and a custom one only with one", async () => {
      await using api = await open();
      await api.call("POST", configMapsOf(api), { body: aConfigMap("a") });
      await api.call("POST", sandboxesOf(api), { body: aSandbox("a") });
      expect((await api.call("PUT", `${configMapsOf(api)}/a`, { body: aConfigMap("a", { data: {} }) })).code).toBe(200);
      const refused = await api.call("PUT", `${sandboxesOf(api)}/a`, { body: aSandbox("a") });
      expect(refused.code).toBe(422);
      expect(refused.status.message).toContain("metadata.resourceVersion");
      expect(refused.status.message).toContain("must be specified for an update");
    });

    it("keeps the resourceVersion of an object if a write changes nothing", async () => {
      await using api = await open();
      const { object } = await api.call("POST", configMapsOf(api), { body: aConfigMap("a") });
      const again = await api.call("PUT", `${configMapsOf(api)}/a`, { body: object });
      expect(again.object.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
    });

    it("increases the generation of a custom object only with its spec", async () => {
      await using api = await open();
      const path = `${sandboxesOf(api)}/a`;
      await api.call("POST", sandboxesOf(api), { body: aSandbox("a") });
      const merge = (body: object) => api.call("PATCH", path, { body, contentType: "application/merge-patch+json" });
      expect((await merge({ metadata: { labels: { a: "b" } } })).object.metadata.generation).toBe(1);
      expect((await merge({ spec: { operatingMode: "Suspended" } })).object.metadata.generation).toBe(2);
      expect((await merge({ spec: { operatingMode: "Suspended" } })).object.metadata.generation).toBe(2);
    });

    it("sets the defaults of the schema and drops unknown fields", async () => {
      await using api = await open();
      const { object, headers } = await api.call("POST", sandboxesOf(api), { body: aSandbox("a", { tea: "green" }) });
      expect(object["spec"]).toMatchObject({ operatingMode: "Running" });
      expect(object["spec"]).not.toHaveProperty("tea");
      expect(headers.get("warning")).toContain('unknown field \\"spec.tea\\"');
    });

    it("rejects or ignores unknown fields, as requested", async () => {
      await using api = await open();
      const body = aSandbox("a", { tea: "green" });
      const strict = await api.call("POST", `${sandboxesOf(api)}?fieldValidation=Strict`, { body });
      expect(strict.code).toBe(400);
      expect(strict.status.reason).toBe("BadRequest");
      expect(strict.status.message).toContain('strict decoding error: unknown field "spec.tea"');
      const ignoring = await api.call("POST", `${sandboxesOf(api)}?fieldValidation=Ignore`, { body });
      expect(ignoring.code).toBe(201);
      expect(ignoring.headers.get("warning")).toBeNull();
    });

    it("answers a dry run and stores nothing", async () => {
      await using api = await open();
      const created = await api.call("POST", `${configMapsOf(api)}?dryRun=All`, { body: aConfigMap("a") });
      expect(created.code).toBe(201);
      expect(created.object.metadata.uid).toBeTruthy();
      expect((await api.call("GET", `${configMapsOf(api)}/a`)).code).toBe(404);
    });

    it("refuses in a dry run what it would refuse, and looks last whether the name is taken", async () => {
      await using api = await open();
      const create = (body: object, query = "") => api.call("POST", `${podsOf(api)}${query}`, { body });
      const valid = aPod("a", { containers: [{ name: "main", image: "busybox" }] });
      const invalid = aPod("a", { containers: [] });
      expect(await create(invalid, "?dryRun=All")).toMatchObject({ code: 422, status: { reason: "Invalid" } });
      expect((await create(valid)).code).toBe(201);
      expect(await create(valid, "?dryRun=All")).toMatchObject({ code: 409, status: { reason: "AlreadyExists" } });
      expect(await create(invalid, "?dryRun=All")).toMatchObject({ code: 422, status: { reason: "Invalid" } });
    });

    it("stores no object of more than 1.5 MiB", async () => {
      await using api = await open();
      const large = (name: string, bytes: number) =>
        aPod(name, { containers: [{ name: "main", image: "busybox", args: ["x".repeat(bytes)] }] });
      const create = (body: object, query = "") => api.call("POST", `${podsOf(api)}${query}`, { body });
      expect((await create(large("a", 1_450_000))).code).toBe(201);
      const { code, status } = await create(large("b", 1_700_000));
      const tooLarge = { code: 500, message: "etcdserver: request is too large" };
      expect({ code, message: status.message, reason: status.reason }).toEqual({ ...tooLarge, reason: undefined });
      expect((await create(large("b", 1_700_000), "?dryRun=All")).code).toBe(201);
      const grown = await api.call("PATCH", `${podsOf(api)}/a`, {
        body: { metadata: { annotations: { "rouse.dev/text": "x".repeat(200_000) } } },
        contentType: "application/merge-patch+json",
      });
      expect({ code: grown.code, message: grown.status.message }).toEqual(tooLarge);
      expect((await api.call("DELETE", `${podsOf(api)}/a`)).code).toBe(200);
    });

    it("shows an event in both of its groups", async () => {
      await using api = await open();
      const regarding = { kind: "ConfigMap", namespace: api.namespace, name: "a", apiVersion: "v1" };
      const event = {
        metadata: { name: "a.1" },
        regarding,
        reason: "Changed",
        note: "the color changed",
        type: "Normal",
        action: "Change",
        eventTime: "2026-01-02T03:04:05.000006Z",
        reportingController: "rouse.dev/test",
        reportingInstance: "one",
      };
      const path = `/apis/events.k8s.io/v1/namespaces/${api.namespace}/events`;
      expect((await api.call("POST", path, { body: event })).object).toMatchObject({ note: "the color changed" });
      const core = `/api/v1/namespaces/${api.namespace}/events?fieldSelector=involvedObject.name%3Da`;
      const { items } = (await api.call("GET", core)).list;
      expect(items).toMatchObject([
        { message: "the color changed", involvedObject: { name: "a" }, reportingComponent: "rouse.dev/test" },
      ]);
    });
  });
}
