import { describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { establishDefinitions, startBareApiServer } from "./support/bare-api-server.ts";
import { commandsUnder } from "./support/page-commands.ts";

const podTemplate = { spec: { containers: [{ name: "main", image: "rouse.invalid/nothing:1" }] } };
const sandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "precious", namespace: "default" },
  spec: { podTemplate },
};

/** A volume claim that belongs to a sandbox, as the controller makes it. */
const volumeClaimOf = (name: string, uid: string) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: {
    name,
    namespace: "default",
    ownerReferences: [
      { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "precious", uid, controller: true },
    ],
  },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
});

describe("the page's way without our webhook", () => {
  it("deletes the objects of the four kinds, and no volume claim, with a real garbage collector", async () => {
    await using api = await startBareApiServer(inject("tools"), { garbageCollector: true });
    const create = (object: object) => api.type(`kubectl create -f - <<'END'\n${JSON.stringify(object)}\nEND`);
    const names = async (kind: string) =>
      (await api.type(`kubectl get ${kind} -o 'jsonpath={.items[*].metadata.name}'`)).split(" ").filter(Boolean);
    await api.type("kubectl apply -k k8s");
    await establishDefinitions(api);
    const [convertNothing = "", scaleDown = "", remove = "", ...others] = commandsUnder(
      "docs/migrating.md",
      "### Without our webhook",
    );
    expect(others).toEqual([]);
    await api.type(convertNothing);
    await eventually(() => create(sandbox).then(Boolean, () => false));
    const uid = await api.type("kubectl get sandbox precious -o jsonpath={.metadata.uid}");
    await create(volumeClaimOf("data-precious", uid));
    await api.type(scaleDown);
    await api.type(remove);
    expect(await names("sandboxes")).toEqual([]);
    // The collector knows the kinds: it deletes what an owner that is gone has left.
    await create(volumeClaimOf("of-nobody", uid));
    await eventually(async () => (await names("pvc")).length === 1, 120_000);
    const left = "kubectl get pvc data-precious -o 'jsonpath={.metadata.ownerReferences}{.metadata.deletionTimestamp}'";
    expect(await api.type(left)).toBe("");
  });
});
