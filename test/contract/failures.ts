import { describe, expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import { isAlreadyExists, isNotFound } from "../../kube/client/errors.ts";
import type { OpenContractApi } from "./contract-api.ts";
import { aConfigMap, aSandbox, configMapsOf, sandboxesOf } from "./subjects.ts";

export function describeFailures(where: string, open: OpenContractApi): void {
  describe(`failures of ${where}`, () => {
    it("describes completely what was not found", async () => {
      await using api = await open();
      const { code, status } = await api.call("GET", `${sandboxesOf(api)}/x`);
      expect(code).toBe(404);
      expect(status).toEqual({
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: 'sandboxes.agents.x-k8s.io "x" not found',
        reason: "NotFound",
        details: { name: "x", group: "agents.x-k8s.io", kind: "sandboxes" },
        code: 404,
      });
    });

    it("reports that the object exists already", async () => {
      await using api = await open();
      await api.call("POST", configMapsOf(api), { body: aConfigMap("a") });
      const { code, status } = await api.call("POST", configMapsOf(api), { body: aConfigMap("a") });
      expect(code).toBe(409);
      expect(status).toMatchObject({
        reason: "AlreadyExists",
        message: 'configmaps "a" already exists',
        details: { name: "a", kind: "configmaps" },
      });
    });

    it("gives the client known error classes", async () => {
      await using api = await open();
      const metadata = { name: "a", namespace: api.namespace };
      await expect(api.client.get(configMapType, metadata)).rejects.toSatisfy(isNotFound);
      await api.client.create(configMapType, { metadata });
      await expect(api.client.create(configMapType, { metadata })).rejects.toSatisfy(isAlreadyExists);
    });

    it("lists all validation errors of an object, by field", async () => {
      await using api = await open();
      const body = aSandbox("a", { operatingMode: "Dreaming", podTemplate: { spec: {} } });
      const { code, status } = await api.call("POST", sandboxesOf(api), { body });
      expect(code).toBe(422);
      expect(status.reason).toBe("Invalid");
      expect(status.message).toMatch(/^Sandbox\.agents\.x-k8s\.io "a" is invalid: \[/);
      expect(status.details).toMatchObject({ name: "a", group: "agents.x-k8s.io", kind: "Sandbox" });
      const fields = status.details?.causes?.map(({ field }) => field);
      expect(fields).toContain("spec.operatingMode");
      expect(fields).toContain("spec.podTemplate.spec.containers");
    });

    it.each([
      ["a name with capitals", { name: "Nova" }, "metadata.name"],
      ["no name at all", {}, "metadata.name"],
      ["a label that is none", { name: "a", labels: { color: "light blue" } }, "metadata.labels"],
      ["an owner that is null", { name: "a", ownerReferences: [null] }, "metadata.ownerReferences.uid"],
      ["a finalizer that is no name", { name: "a", finalizers: ["no good"] }, "metadata.finalizers"],
    ])("rejects %s", async (_what, metadata, field) => {
      await using api = await open();
      const { code, status } = await api.call("POST", configMapsOf(api), { body: { ...aConfigMap("a"), metadata } });
      expect(code).toBe(422);
      expect(status.details?.causes?.map((cause) => cause.field)).toContain(field);
    });

    it("rejects a ConfigMap with one key for a text and for bytes", async () => {
      await using api = await open();
      const body = { ...aConfigMap("a"), data: { both: "text" }, binaryData: { both: "AA==" } };
      const { code, status } = await api.call("POST", configMapsOf(api), { body });
      expect(code).toBe(422);
      expect(status.details?.causes?.map(({ field }) => field)).toEqual(["data[both]"]);
    });

    it("rejects a list that goes on from a token that no list has given", async () => {
      await using api = await open();
      expect((await api.call("GET", `${configMapsOf(api)}?limit=1&continue=garbage`)).code).toBe(400);
    });

    it("rejects an EndpointSlice with an endpoint that has no addresses", async () => {
      await using api = await open();
      const path = `/apis/discovery.k8s.io/v1/namespaces/${api.namespace}/endpointslices`;
      const slice = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: { name: "a" } };
      const body = { ...slice, addressType: "IPv4", endpoints: [{ hostname: "x" }] };
      const { code, status } = await api.call("POST", path, { body });
      expect(code).toBe(422);
      expect(status.details?.causes?.map(({ field }) => field)).toContain("endpoints[0].addresses");
    });

    it("rejects a create in a namespace that does not exist", async () => {
      await using api = await open();
      const path = "/api/v1/namespaces/no-such-place/configmaps";
      const { code, status } = await api.call("POST", path, { body: aConfigMap("a") });
      expect(code).toBe(404);
      expect(status.message).toBe('namespaces "no-such-place" not found');
    });

    it("rejects an object with another namespace, name or kind than its path", async () => {
      await using api = await open();
      const elsewhere = { ...aConfigMap("a"), metadata: { name: "a", namespace: "default" } };
      const refused = await api.call("POST", configMapsOf(api), { body: elsewhere });
      expect(refused.code).toBe(400);
      expect(refused.status.message).toBe(
        "the namespace of the provided object does not match the namespace sent on the request",
      );
      await api.call("POST", configMapsOf(api), { body: aConfigMap("a") });
      const renamed = await api.call("PUT", `${configMapsOf(api)}/a`, { body: aConfigMap("b") });
      expect(renamed.code).toBe(400);
      expect(renamed.status.message).toBe("the name of the object (b) does not match the name on the URL (a)");
      const other = await api.call("POST", sandboxesOf(api), { body: aConfigMap("a") });
      expect(other.code).toBe(400);
    });

    it.each([
      ["JSON that is cut off", '{"metadata":', "application/json", 400],
      ["an unknown media type", "hello", "text/plain", 415],
    ])("rejects the body: %s", async (_what, body, contentType, code) => {
      await using api = await open();
      expect((await api.call("POST", configMapsOf(api), { body, contentType })).code).toBe(code);
    });

    it("rejects a method that a resource does not have", async () => {
      await using api = await open();
      const { code, status } = await api.call("PUT", configMapsOf(api), { body: {} });
      expect(code).toBe(405);
      expect(status).toMatchObject({
        reason: "MethodNotAllowed",
        message: "the server does not allow this method on the requested resource",
      });
    });

    it("rejects a body above its limit", async () => {
      await using api = await open();
      const body = aConfigMap("a", { data: { big: "x".repeat(4 * 1024 * 1024) } });
      const { code, status } = await api.call("POST", configMapsOf(api), { body });
      expect(code).toBe(413);
      expect(status.reason).toBe("RequestEntityTooLarge");
    });

    it("rejects a response format that it does not support", async () => {
      await using api = await open();
      const { code, status } = await api.call("GET", sandboxesOf(api), { headers: { accept: "text/html" } });
      expect(code).toBe(406);
      expect(status.message).toContain("only the following media types are accepted: application/json");
    });

    it("answers 404 for resources that it does not serve", async () => {
      await using api = await open();
      expect((await api.call("GET", "/apis/agents.x-k8s.io/v1beta1/teapots")).code).toBe(404);
      const nothing = await api.call("GET", "/no/such/path");
      expect(nothing.code).toBe(404);
      expect(nothing.text.trim()).toBe("404 page not found");
    });
  });
}
