import { describe, expect, it } from "vitest";
import type { ContractApi, OpenContractApi } from "./contract-api.ts";
import { aConfigMap, aPod, configMapsOf, podsOf } from "./subjects.ts";

const labels: Readonly<Record<string, object>> = {
  a: { tier: "front", weight: "3" },
  b: { tier: "back", "example.com/owner": "ann" },
  c: {},
};

async function createAll(api: ContractApi) {
  for (const [name, its] of Object.entries(labels)) {
    await api.call("POST", configMapsOf(api), { body: { ...aConfigMap(name), metadata: { name, labels: its } } });
  }
}

async function namesOf(api: ContractApi, query: string) {
  const path = `${configMapsOf(api)}?${query}&limit=500`;
  const { items } = (await api.call("GET", path)).list;
  // Every namespace has a ConfigMap that the cluster creates.
  return items
    .map(({ metadata }) => metadata.name ?? "")
    .filter((name) => name in labels)
    .join(" ");
}

export function describeSelecting(where: string, open: OpenContractApi): void {
  describe(`selecting in ${where}`, () => {
    it.each([
      ["tier=front", "a"],
      ["tier==front", "a"],
      ["tier!=front", "b c"],
      ["tier in (front, back)", "a b"],
      ["tier notin (front)", "b c"],
      ["tier", "a b"],
      ["!tier", "c"],
      ["weight>2", "a"],
      ["weight<3", ""],
      ["tier,example.com/owner=ann", "b"],
      ["", "a b c"],
    ])("supports the label selector %j", async (selector, names) => {
      await using api = await open();
      await createAll(api);
      expect(await namesOf(api, `labelSelector=${encodeURIComponent(selector)}`)).toBe(names);
    });

    it.each([
      ["metadata.name=b", "b"],
      ["metadata.name!=b", "a c"],
      ["metadata.name==a,metadata.name!=b", "a"],
    ])("supports the field selector %j", async (selector, names) => {
      await using api = await open();
      await createAll(api);
      expect(await namesOf(api, `fieldSelector=${encodeURIComponent(selector)}`)).toBe(names);
    });

    it("selects Pods by their node", async () => {
      await using api = await open();
      await api.call("POST", podsOf(api), { body: aPod("p") });
      await api.call("POST", podsOf(api), { body: aPod("q", { nodeName: "n" }) });
      const { items } = (await api.call("GET", `${podsOf(api)}?fieldSelector=spec.nodeName%3Dn`)).list;
      expect(items.map(({ metadata }) => metadata.name)).toEqual(["q"]);
      await api.call("DELETE", `${podsOf(api)}/q?gracePeriodSeconds=0`);
    });

    it("lists one namespace, or all namespaces", async () => {
      await using api = await open();
      await using other = await open();
      await createAll(api);
      expect(await namesOf(other, "")).toBe("");
      const { items } = (await api.call("GET", "/api/v1/configmaps?labelSelector=tier")).list;
      const mine = items.filter(({ metadata }) => metadata.namespace === api.namespace);
      expect(mine.map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
    });

    it.each([
      ["labelSelector", "tier in front"],
      ["labelSelector", "=front"],
      ["fieldSelector", "spec.unknown=1"],
      ["fieldSelector", "metadata.name"],
    ])("rejects the %s %j", async (parameter, selector) => {
      await using api = await open();
      const { code, status } = await api.call(
        "GET",
        `${configMapsOf(api)}?${parameter}=${encodeURIComponent(selector)}`,
      );
      expect(code).toBe(400);
      expect(status.reason).toBe("BadRequest");
    });
  });
}
