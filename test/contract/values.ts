import { describe, expect, it } from "vitest";
import type { OpenContractApi } from "./contract-api.ts";
import { aSandbox, sandboxesOf } from "./subjects.ts";

const takenTimes = [
  "2099-01-01t00:00:00z",
  "2099-01-01T00:00:00,5Z",
  "2099-01-01T00:00:00x5Z",
  "2099-01-01T00:00:00+24:00",
  "2099-01-01T00:00:00+99:99",
  "2099-01-01T00:00:00ZT",
  "2096-02-29T23:59:59.999999999-12:00",
];
const refusedTimes = [
  "2099-02-29T00:00:00Z",
  "2099-13-01T00:00:00Z",
  "2099-01-01T24:00:00Z",
  "2099-01-01T23:59:60Z",
  "2099-01-01T00:00:00",
  "2099-01-01T00:00:00.Z",
  "2099-01-01 00:00:00Z",
  "2099-01-01",
  "",
];
const annotationsOf = (bytes: number) => ({ filler: "ü".repeat(50) + "x".repeat(bytes - "filler".length - 100) });

/** The values that an API server accepts at the limits. */
export function describeValues(where: string, open: OpenContractApi): void {
  describe(`values at their borders in ${where}`, () => {
    it("accepts exactly the times that kube-openapi accepts", async () => {
      await using api = await open();
      const codeOf = async (shutdownTime: string, at: number) =>
        (await api.call("POST", sandboxesOf(api), { body: aSandbox(`t-${at}`, { shutdownTime }) })).code;
      for (const [at, time] of takenTimes.entries()) expect(await codeOf(time, at), time).toBe(201);
      for (const [at, time] of refusedTimes.entries()) expect(await codeOf(time, 100 + at), time).toBe(422);
    });

    it("accepts annotations of 262144 bytes in total, and not one more", async () => {
      await using api = await open();
      const codeOf = async (name: string, bytes: number) => {
        const sandbox = aSandbox(name);
        const body = { ...sandbox, metadata: { ...sandbox.metadata, annotations: annotationsOf(bytes) } };
        return (await api.call("POST", sandboxesOf(api), { body })).code;
      };
      expect(await codeOf("full", 262_144)).toBe(201);
      expect(await codeOf("over", 262_145)).toBe(422);
      // An object with the maximum is also listed in the other version.
      const older = sandboxesOf(api).replace("/v1beta1/", "/v1alpha1/");
      expect((await api.call("GET", older)).code).toBe(200);
    });
  });
}
