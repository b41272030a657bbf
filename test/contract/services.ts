import { describe, expect, it } from "vitest";
import type { Service } from "../../api/kinds/core.ts";
import type { AnyObject, ContractApi, OpenContractApi } from "./contract-api.ts";

const servicesOf = ({ namespace }: ContractApi): string => `/api/v1/namespaces/${namespace}/services`;
const http = { name: "http", port: 80 };

const aService = (name: string, spec: Service["spec"] = { ports: [http] }) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec,
});

const specOf = (object: AnyObject): NonNullable<Service["spec"]> => (object as Service).spec ?? {};

export function describeServices(where: string, open: OpenContractApi): void {
  describe(`Services of ${where}`, () => {
    it("get an address and the fields that belong to it", async () => {
      await using api = await open();
      const [one, two] = [
        await api.call("POST", servicesOf(api), { body: aService("one") }),
        await api.call("POST", servicesOf(api), { body: aService("two") }),
      ];
      expect(one.code).toBe(201);
      const { clusterIP } = specOf(one.object);
      expect(clusterIP).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
      expect(specOf(two.object).clusterIP).not.toBe(clusterIP);
      expect(one.object["spec"]).toEqual({
        type: "ClusterIP",
        clusterIP,
        clusterIPs: [clusterIP],
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        internalTrafficPolicy: "Cluster",
        sessionAffinity: "None",
        ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 80 }],
      });
      expect(one.object["status"]).toEqual({ loadBalancer: {} });
    });

    it("keep their address in an update without one, and reject another one", async () => {
      await using api = await open();
      const { object } = await api.call("POST", servicesOf(api), { body: aService("web") });
      const { clusterIP } = specOf(object);
      const put = (spec: object) => api.call("PUT", `${servicesOf(api)}/web`, { body: { ...object, spec } });
      const kept = await put({ ports: [http, { name: "more", port: 81 }] });
      expect([kept.code, specOf(kept.object).clusterIP]).toEqual([200, clusterIP]);
      const merge = { contentType: "application/merge-patch+json", body: { spec: { clusterIP: "None" } } };
      const refused = await api.call("PATCH", `${servicesOf(api)}/web`, merge);
      expect(refused.code).toBe(422);
      expect(refused.status.message).toContain("may not change once set");
    });

    it("get the requested address, unless it is in use", async () => {
      await using api = await open();
      const { object } = await api.call("POST", servicesOf(api), { body: aService("first") });
      const { clusterIP = "" } = specOf(object);
      const asking = aService("second", { clusterIP, ports: [http] });
      const refused = await api.call("POST", servicesOf(api), { body: asking });
      expect(refused.code).toBe(422);
      expect(refused.status).toMatchObject({
        reason: "Invalid",
        message: `Service "second" is invalid: spec.clusterIPs: Invalid value: ["${clusterIP}"]: failed to allocate IP ${clusterIP}: provided IP is already allocated`,
      });
      expect((await api.call("DELETE", `${servicesOf(api)}/first`)).code).toBe(200);
      const given = await api.call("POST", servicesOf(api), { body: asking });
      expect([given.code, specOf(given.object).clusterIP]).toEqual([201, clusterIP]);
    });

    it.each([
      ["is none", "web", "must be a valid IP address"],
      ["is not theirs to give", "192.0.2.1", "failed to allocate IP 192.0.2.1"],
    ])("are rejected with an address that %s", async (_case, clusterIP, complaint) => {
      await using api = await open();
      const { code, status } = await api.call("POST", servicesOf(api), {
        body: aService("a", { clusterIP, ports: [http] }),
      });
      expect(code).toBe(422);
      expect(status.message).toContain(complaint);
    });

    it("have no address if they are headless or of type ExternalName", async () => {
      await using api = await open();
      const headless = aService("headless", { clusterIP: "None", selector: { app: "a" } });
      expect((await api.call("POST", servicesOf(api), { body: headless })).object["spec"]).toMatchObject({
        clusterIP: "None",
        clusterIPs: ["None"],
      });
      const outside = aService("outside", { type: "ExternalName", externalName: "db.example.com" });
      expect((await api.call("POST", servicesOf(api), { body: outside })).object["spec"]).toEqual({
        type: "ExternalName",
        externalName: "db.example.com",
        sessionAffinity: "None",
      });
    });

    it("are shown with type, addresses and ports", async () => {
      await using api = await open();
      const { object } = await api.call("POST", servicesOf(api), { body: aService("web") });
      const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
      const { object: table } = await api.call("GET", servicesOf(api), { headers });
      const { columnDefinitions, rows } = table as unknown as {
        readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
        readonly rows: readonly { readonly cells: readonly unknown[] }[];
      };
      const shown = columnDefinitions.filter(({ priority }) => priority === 0).map(({ name }) => name);
      expect(shown).toEqual(["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"]);
      expect(rows[0]?.cells.slice(0, 5)).toEqual(["web", "ClusterIP", specOf(object).clusterIP, "<none>", "80/TCP"]);
    });
  });
}
