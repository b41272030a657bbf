import { describe, expect, it } from "vitest";
import type { AnyEvent, ContractApi, OpenContractApi, Reply } from "./contract-api.ts";
import { aSandbox, aWarmPool, sandboxesOf, warmPoolsOf } from "./subjects.ts";

const merge = "application/merge-patch+json";
const older = (path: string): string => path.replace("/v1beta1/", "/v1alpha1/");
const olderSandboxesOf = (api: ContractApi): string => older(sandboxesOf(api));
const olderPoolsOf = (api: ContractApi): string => older(warmPoolsOf(api));
const olderClaimsOf = (api: ContractApi): string => olderPoolsOf(api).replace("sandboxwarmpools", "sandboxclaims");
const newerClaimsOf = (api: ContractApi): string => warmPoolsOf(api).replace("sandboxwarmpools", "sandboxclaims");

const asOlder = ({ apiVersion, ...object }: { readonly apiVersion: string }) => ({
  ...object,
  apiVersion: apiVersion.replace("v1beta1", "v1alpha1"),
});
const anOlderSandbox = (name: string, spec: object = {}) => asOlder(aSandbox(name, spec));
const anOlderClaim = (name: string, spec: object = {}) => ({
  apiVersion: "extensions.agents.x-k8s.io/v1alpha1",
  kind: "SandboxClaim",
  metadata: { name },
  spec: { sandboxTemplateRef: { name: "t" }, ...spec },
});
const specOf = ({ object }: Reply) => object["spec"];
const stateKey = "api.agents.x-k8s.io/v1alpha1-sandbox-state";

/**
 * The behaviour of an API server with objects stored as `v1beta1` that clients of `v1alpha1` rely on: of one with the conversion
 * webhook, and of the one in memory.
 */
export function describeVersions(where: string, open: OpenContractApi): void {
  describeReadingAndWriting(where, open);
  describeScale(where, open);
  describeWatches(where, open);
  describeDiscovery(where, open);
}

function describeReadingAndWriting(where: string, open: OpenContractApi): void {
  describe(`v1alpha1 in ${where}`, () => {
    it("is another form of the same object that v1beta1 shows", async () => {
      await using api = await open();
      const made = await api.call("POST", olderSandboxesOf(api), { body: anOlderSandbox("a", { replicas: 0 }) });
      expect([made.code, made.object.apiVersion]).toEqual([201, "agents.x-k8s.io/v1alpha1"]);
      expect(specOf(made)).toMatchObject({ replicas: 0 });
      const newer = await api.call("GET", `${sandboxesOf(api)}/a`);
      expect(newer.object.apiVersion).toBe("agents.x-k8s.io/v1beta1");
      expect(specOf(newer)).toMatchObject({ operatingMode: "Suspended" });
      expect(specOf(newer)).not.toHaveProperty("replicas");
      const { annotations, ...metadata } = newer.object.metadata;
      expect(Object.keys(annotations ?? {})).toEqual([stateKey]);
      expect(made.object.metadata).toMatchObject({ uid: metadata.uid, resourceVersion: metadata.resourceVersion });
      const { list } = await api.call("GET", olderSandboxesOf(api));
      expect(list).toMatchObject({ kind: "SandboxList", apiVersion: "agents.x-k8s.io/v1alpha1" });
      expect(list.items).toEqual([made.object]);
    });

    it("lists an object with an unreadable v1alpha1 original together with all others", async () => {
      await using api = await open();
      await api.call("POST", sandboxesOf(api), { body: aSandbox("a") });
      const broken = aSandbox("b");
      const annotations = { [stateKey]: "{" };
      await api.call("POST", sandboxesOf(api), { body: { ...broken, metadata: { ...broken.metadata, annotations } } });
      const listed = await api.call("GET", olderSandboxesOf(api));
      expect([listed.code, listed.list.items.map(({ metadata }) => metadata.name)]).toEqual([200, ["a", "b"]]);
    });

    it("writes its own defaults, prunes by its own schema, and uses its own validation", async () => {
      await using api = await open();
      const claim = await api.call("POST", olderClaimsOf(api), { body: anOlderClaim("c") });
      expect(specOf(claim)).toEqual({ sandboxTemplateRef: { name: "t" }, warmpool: "default" });
      const newer = await api.call("GET", `${newerClaimsOf(api)}/c`);
      expect(specOf(newer)).toEqual({ warmPoolRef: { name: "shadow-pool-t" } });
      const body = anOlderSandbox("a", { operatingMode: "Suspended" });
      expect(specOf(await api.call("POST", olderSandboxesOf(api), { body }))).toMatchObject({ replicas: 1 });
      const refused = await api.call("POST", olderSandboxesOf(api), { body: anOlderSandbox("b", { replicas: 2 }) });
      expect([refused.code, refused.status.details?.causes?.[0]?.field]).toEqual([422, "spec.replicas"]);
      const pool = { ...asOlder(aWarmPool("p", 1)), spec: { sandboxTemplateRef: { name: "t" } } };
      const incomplete = await api.call("POST", olderPoolsOf(api), { body: pool });
      expect([incomplete.code, incomplete.status.details?.causes?.[0]?.field]).toEqual([422, "spec.replicas"]);
    });

    it("warns in every response that it is deprecated, and v1beta1 does not", async () => {
      await using api = await open();
      const warning =
        '299 - "agents.x-k8s.io/v1alpha1 Sandbox is deprecated; use agents.x-k8s.io/v1beta1 Sandbox instead"';
      const made = await api.call("POST", olderSandboxesOf(api), { body: anOlderSandbox("a", { tea: 1 }) });
      expect(made.headers.get("warning")).toContain(warning);
      for (const path of ["", "/a", "/a/status", "/a/scale", "/missing"]) {
        expect((await api.call("GET", `${olderSandboxesOf(api)}${path}`)).headers.get("warning")).toBe(warning);
      }
      const claims = await api.call("GET", olderClaimsOf(api));
      expect(claims.headers.get("warning")).toContain("use extensions.agents.x-k8s.io/v1beta1 SandboxClaim instead");
      expect((await api.call("GET", `${sandboxesOf(api)}/a`)).headers.get("warning")).toBeNull();
    });

    it("increases the generation with the spec, not with the status", async () => {
      await using api = await open();
      await api.call("POST", olderSandboxesOf(api), { body: anOlderSandbox("a") });
      const path = `${olderSandboxesOf(api)}/a`;
      const suspended = await api.call("PATCH", path, { body: { spec: { replicas: 0 } }, contentType: merge });
      expect(suspended.object.metadata.generation).toBe(2);
      const status = { replicas: 1, service: "a" };
      const patched = await api.call("PATCH", `${path}/status`, { body: { status }, contentType: merge });
      expect(patched.object).toMatchObject({ metadata: { generation: 2 }, status });
      const newer = await api.call("GET", `${sandboxesOf(api)}/a`);
      expect(newer.object).toMatchObject({
        metadata: { generation: 2, resourceVersion: patched.object.metadata.resourceVersion },
        spec: { operatingMode: "Suspended" },
        status: { service: "a" },
      });
    });

    it("is written with the resourceVersion that was read through v1beta1, and vice versa", async () => {
      await using api = await open();
      const made = await api.call("POST", sandboxesOf(api), { body: aSandbox("a") });
      const patched = await api.call("PATCH", `${olderSandboxesOf(api)}/a`, {
        body: { metadata: { resourceVersion: made.object.metadata.resourceVersion }, spec: { replicas: 0 } },
        contentType: merge,
      });
      expect(patched.code).toBe(200);
      expect((await api.call("PUT", `${sandboxesOf(api)}/a`, { body: made.object })).code).toBe(409);
      expect((await api.call("DELETE", `${olderSandboxesOf(api)}/a`)).code).toBe(200);
      expect((await api.call("GET", `${sandboxesOf(api)}/a`)).code).toBe(404);
    });

    it("does not apply the validation that only v1beta1 has", async () => {
      await using api = await open();
      await api.call("POST", sandboxesOf(api), { body: aSandbox("a") });
      const body = { spec: { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] } };
      const through = (path: string) => api.call("PATCH", `${path}/a`, { body, contentType: merge });
      expect((await through(sandboxesOf(api))).code).toBe(422);
      expect((await through(olderSandboxesOf(api))).code).toBe(200);
    });
  });
}

function describeScale(where: string, open: OpenContractApi): void {
  describe(`the scale of both versions in ${where}`, () => {
    it("suspends and resumes a v1alpha1 Sandbox; v1beta1 has no scale", async () => {
      await using api = await open();
      await api.call("POST", sandboxesOf(api), { body: aSandbox("a") });
      const path = `${olderSandboxesOf(api)}/a/scale`;
      expect((await api.call("GET", path)).object).toMatchObject({ kind: "Scale", spec: { replicas: 1 } });
      const mode = async (replicas: number) => {
        await api.call("PATCH", path, { body: { spec: { replicas } }, contentType: merge });
        return specOf(await api.call("GET", `${sandboxesOf(api)}/a`));
      };
      expect(await mode(0)).toMatchObject({ operatingMode: "Suspended" });
      expect(await mode(1)).toMatchObject({ operatingMode: "Running" });
      expect((await api.call("PATCH", path, { body: { spec: { replicas: 2 } }, contentType: merge })).code).toBe(422);
      expect((await api.call("GET", `${sandboxesOf(api)}/a/scale`)).code).toBe(404);
    });

    it("is that of the pool in each version", async () => {
      await using api = await open();
      await api.call("POST", olderPoolsOf(api), { body: asOlder(aWarmPool("p", 2)) });
      for (const pools of [olderPoolsOf(api), warmPoolsOf(api)]) {
        const { object } = await api.call("GET", `${pools}/p/scale`);
        const body = { ...object, spec: { replicas: 3 } };
        expect((await api.call("PUT", `${pools}/p/scale`, { body })).object["spec"]).toEqual({ replicas: 3 });
      }
      expect(specOf(await api.call("GET", `${warmPoolsOf(api)}/p`))).toMatchObject({ replicas: 3 });
    });
  });
}

const summaryOf = (event: AnyEvent | undefined) => [event?.type, event?.object.apiVersion, event?.object["spec"]];

function describeWatches(where: string, open: OpenContractApi): void {
  describe(`watches of both versions in ${where}`, () => {
    it("report the same changes, each in its own version", async () => {
      await using api = await open();
      const { list } = await api.call("GET", sandboxesOf(api));
      const since = `?watch=true&resourceVersion=${list.metadata.resourceVersion}`;
      using newer = await api.watch(`${sandboxesOf(api)}${since}`);
      using before = await api.watch(`${olderSandboxesOf(api)}${since}`);
      await api.call("POST", olderSandboxesOf(api), { body: anOlderSandbox("a") });
      await api.call("PATCH", `${sandboxesOf(api)}/a`, {
        body: { spec: { operatingMode: "Suspended" } },
        contentType: merge,
      });
      const alpha = "agents.x-k8s.io/v1alpha1";
      const beta = "agents.x-k8s.io/v1beta1";
      expect(summaryOf(await before.next())).toEqual(["ADDED", alpha, expect.objectContaining({ replicas: 1 })]);
      expect(summaryOf(await before.next())).toEqual(["MODIFIED", alpha, expect.objectContaining({ replicas: 0 })]);
      const running = expect.objectContaining({ operatingMode: "Running" });
      const suspended = expect.objectContaining({ operatingMode: "Suspended" });
      expect(summaryOf(await newer.next())).toEqual(["ADDED", beta, running]);
      expect(summaryOf(await newer.next())).toEqual(["MODIFIED", beta, suspended]);
    });
  });
}

function describeDiscovery(where: string, open: OpenContractApi): void {
  describe(`what ${where} says of its versions`, () => {
    it("lists both, and prefers v1beta1", async () => {
      await using api = await open();
      for (const group of ["agents.x-k8s.io", "extensions.agents.x-k8s.io"]) {
        const { object } = await api.call("GET", `/apis/${group}`);
        expect(object["preferredVersion"]).toMatchObject({ version: "v1beta1" });
        expect(object["versions"]).toMatchObject([{ version: "v1beta1" }, { version: "v1alpha1" }]);
      }
      const resources = async (path: string) => {
        const { object } = await api.call("GET", path);
        return (object["resources"] as { readonly name: string }[]).map(({ name }) => name).sort();
      };
      const both = ["sandboxes", "sandboxes/status"];
      expect(await resources("/apis/agents.x-k8s.io/v1beta1")).toEqual(both);
      expect(await resources("/apis/agents.x-k8s.io/v1alpha1")).toEqual([...both, "sandboxes/scale"].sort());
    });

    it("describes the fields of each", async () => {
      await using api = await open();
      const fields = async (version: string) =>
        (await api.call("GET", `/openapi/v3/apis/agents.x-k8s.io/${version}`)).text;
      expect(await fields("v1beta1")).toContain('"operatingMode"');
      expect(await fields("v1beta1")).not.toContain('"replicas"');
      expect(await fields("v1alpha1")).toContain('"replicas"');
    });
  });
}
