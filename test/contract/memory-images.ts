import { describe, expect, it } from "vitest";
import type { ContractApi, OpenContractApi } from "./contract-api.ts";

const imagesOf = ({ namespace }: ContractApi): string =>
  `/apis/hibernation.rouse.dev/v1alpha1/namespaces/${namespace}/memoryimages`;

const spec = {
  sandboxUID: "1f0f9a1e-0000-4000-8000-000000000001",
  podName: "nova",
  podUID: "1f0f9a1e-0000-4000-8000-000000000002",
  nodeName: "n1",
  runHash: "abc",
  timeoutSeconds: 10,
  stage: "Preflight",
};

const anImage = (name: string, changes: object = {}) => ({
  apiVersion: "hibernation.rouse.dev/v1alpha1",
  kind: "MemoryImage",
  metadata: { name },
  spec: { ...spec, ...changes },
});

const merge = "application/merge-patch+json";
const patch = (api: ContractApi, path: string, body: object) =>
  api.call("PATCH", `${imagesOf(api)}/${path}`, { body, contentType: merge });

export function describeMemoryImages(where: string, open: OpenContractApi): void {
  describe(`a MemoryImage in ${where}`, () => {
    it("keeps its spec, except the stage, which goes only forward", async () => {
      await using api = await open();
      await api.call("POST", imagesOf(api), { body: anImage("kept") });
      for (const [field, value] of Object.entries(spec)) {
        if (field === "stage") continue;
        const other = typeof value === "number" ? value + 1 : `${value}0`;
        const reply = await patch(api, "kept", { spec: { [field]: other } });
        expect([reply.code, reply.status.details?.causes?.[0]?.field], field).toEqual([422, `spec.${field}`]);
      }
      expect((await patch(api, "kept", { spec: { stage: "Capture" } })).code).toBe(200);
      expect((await patch(api, "kept", { spec: { stage: "Capture" } })).code).toBe(200);
      expect((await patch(api, "kept", { spec: { stage: "Preflight" } })).code).toBe(422);
    });

    it("gets the images of the containers once", async () => {
      await using api = await open();
      await api.call("POST", imagesOf(api), { body: anImage("named") });
      const containerImages = [{ name: "main", image: "busybox@sha256:1" }];
      const other = [{ name: "main", image: "busybox@sha256:2" }];
      expect((await patch(api, "named", { spec: { stage: "Capture", containerImages } })).code).toBe(200);
      expect((await patch(api, "named", { spec: { stage: "Capture", containerImages } })).code).toBe(200);
      expect((await patch(api, "named", { spec: { containerImages: other } })).code).toBe(422);
    });

    it("needs all fields of its spec, and a timeout of 1 to 60 s", async () => {
      await using api = await open();
      const create = async (changes: object) =>
        (await api.call("POST", imagesOf(api), { body: anImage("new", changes) })).code;
      for (const field of Object.keys(spec)) expect(await create({ [field]: undefined }), field).toBe(422);
      expect(await create({ timeoutSeconds: 0 })).toBe(422);
      expect(await create({ timeoutSeconds: 61 })).toBe(422);
      expect(await create({ timeoutSeconds: 60 })).toBe(201);
    });

    it("has a name that is a DNS label of at most 63 characters", async () => {
      await using api = await open();
      const create = async (name: string) => (await api.call("POST", imagesOf(api), { body: anImage(name) })).code;
      expect(await create("a".repeat(63))).toBe(201);
      expect(await create("a".repeat(64))).toBe(422);
      expect(await create("a.b")).toBe(422);
    });

    it("has its status apart from its spec", async () => {
      await using api = await open();
      await api.call("POST", imagesOf(api), { body: { ...anImage("apart"), status: { phase: "Captured" } } });
      expect((await api.call("GET", `${imagesOf(api)}/apart`)).object["status"]).toBeUndefined();
      const status = { phase: "Captured", bytes: 20_971_520, imageHash: "0".repeat(64) };
      const body = { status, spec: { stage: "Capture" } };
      expect((await patch(api, "apart/status", body)).object).toMatchObject({ status, spec });
      expect((await patch(api, "apart/status", { status: { phase: "Ended" } })).code).toBe(422);
    });

    it("is selected by its node, in lists and watches", async () => {
      await using api = await open();
      await api.call("POST", imagesOf(api), { body: anImage("here") });
      await api.call("POST", imagesOf(api), { body: anImage("there", { nodeName: "n2" }) });
      const query = `fieldSelector=${encodeURIComponent("spec.nodeName=n2")}`;
      const { items, metadata } = (await api.call("GET", `${imagesOf(api)}?${query}`)).list;
      expect(items.map((item) => item.metadata.name)).toEqual(["there"]);
      const from = metadata.resourceVersion;
      using watch = await api.watch(`${imagesOf(api)}?watch=true&${query}&resourceVersion=${from}`);
      await patch(api, "here", { spec: { stage: "Capture" } });
      await patch(api, "there", { spec: { stage: "Capture" } });
      expect(await watch.next()).toMatchObject({ type: "MODIFIED", object: { metadata: { name: "there" } } });
    });
  });
}
