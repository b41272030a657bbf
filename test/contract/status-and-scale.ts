import { describe, expect, it } from "vitest";
import type { OpenContractApi } from "./contract-api.ts";
import { aConfigMap, aSandbox, aWarmPool, configMapsOf, sandboxesOf, warmPoolsOf } from "./subjects.ts";

const merge = "application/merge-patch+json";

const condition = {
  type: "Ready",
  status: "True",
  reason: "DependenciesReady",
  message: "it is",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

export function describeStatusAndScale(where: string, open: OpenContractApi): void {
  describe(`subresources in ${where}`, () => {
    it("changes the status only through its own path", async () => {
      await using api = await open();
      const status = { conditions: [condition] };
      const created = await api.call("POST", sandboxesOf(api), { body: { ...aSandbox("a"), status } });
      expect(created.object["status"]).toBeUndefined();
      const path = `${sandboxesOf(api)}/a`;
      const ignored = await api.call("PATCH", path, { body: { status }, contentType: merge });
      expect(ignored.object["status"]).toBeUndefined();
      const written = await api.call("PATCH", `${path}/status`, { body: { status }, contentType: merge });
      expect(written.object["status"]).toEqual(status);
    });

    it("changes only the status through the path of the status", async () => {
      await using api = await open();
      const { object } = await api.call("POST", sandboxesOf(api), { body: aSandbox("a") });
      const body = {
        ...object,
        metadata: { ...object.metadata, labels: { sneaky: "yes" } },
        spec: { ...(object["spec"] as object), operatingMode: "Suspended" },
        status: { conditions: [condition] },
      };
      const written = await api.call("PUT", `${sandboxesOf(api)}/a/status`, { body });
      expect(written.code).toBe(200);
      expect(written.object["spec"]).toEqual(object["spec"]);
      expect(written.object.metadata.labels).toBeUndefined();
      expect(written.object.metadata.generation).toBe(1);
      expect(written.object["status"]).toEqual({ conditions: [condition] });
      const stale = await api.call("PUT", `${sandboxesOf(api)}/a/status`, { body });
      expect(stale.code).toBe(409);
    });

    it("has no status path for kinds without one", async () => {
      await using api = await open();
      await api.call("POST", configMapsOf(api), { body: aConfigMap("a") });
      expect((await api.call("GET", `${configMapsOf(api)}/a/status`)).code).toBe(404);
    });

    it("reads and writes the scale of a kind with a scale subresource", async () => {
      await using api = await open();
      await api.call("POST", warmPoolsOf(api), { body: aWarmPool("pool", 2) });
      const path = `${warmPoolsOf(api)}/pool/scale`;
      const { object: scale } = await api.call("GET", path);
      expect(scale).toMatchObject({ kind: "Scale", apiVersion: "autoscaling/v1", spec: { replicas: 2 } });
      expect(scale.metadata).toMatchObject({ name: "pool", namespace: api.namespace });
      const replaced = await api.call("PUT", path, { body: { ...scale, spec: { replicas: 3 } } });
      expect(replaced.object).toMatchObject({ kind: "Scale", spec: { replicas: 3 } });
      expect((await api.call("PUT", path, { body: { ...scale, spec: { replicas: 4 } } })).code).toBe(409);
      const patched = await api.call("PATCH", path, { body: { spec: { replicas: 5 } }, contentType: merge });
      expect(patched.object).toMatchObject({ spec: { replicas: 5 } });
      const { object } = await api.call("GET", `${warmPoolsOf(api)}/pool`);
      expect(object).toMatchObject({ spec: { replicas: 5 }, metadata: { generation: 3 } });
    });
  });
}
