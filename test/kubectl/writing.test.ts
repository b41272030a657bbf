import { describe, expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { openCluster } from "./cluster.ts";
import { findBinaries } from "./kubectl.ts";
import { configManifest, podManifest, sandboxManifest } from "./manifests.ts";

const hello = { name: "hello", namespace: "default" };
const settings = { name: "settings", namespace: "default" };

describe.each(await findBinaries())("kubectl $version writes:", (binary) => {
  it("apply creates, changes, and leaves unchanged objects alone", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    expect(await kubectl.run("apply -f -", { input: sandboxManifest })).toBe("sandbox.agents.x-k8s.io/hello created");
    expect(await kubectl.run("apply -f -", { input: sandboxManifest })).toBe("sandbox.agents.x-k8s.io/hello unchanged");
    const changed = sandboxManifest.replace("example/hello", "example/hello:2");
    expect(await kubectl.run("apply -f -", { input: changed })).toBe("sandbox.agents.x-k8s.io/hello configured");
  });

  it.each([
    ["a built-in kind", configManifest, "  size: large\n", "configmap/settings"],
    ["our kind", sandboxManifest, "          image: example/hello\n", "sandbox.agents.x-k8s.io/hello"],
  ])("apply removes a field that the manifest no longer has: %s", async (_case, input, line, name) => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await kubectl.run("apply -f -", { input });
    expect(await kubectl.run("apply -f -", { input: input.replace(line, "") })).toBe(`${name} configured`);
    // The annotation still has the former manifest; the object does not have the field.
    const { metadata: _metadata, ...rest } = JSON.parse(await kubectl.run(`get ${name} -o json`));
    expect(JSON.stringify(rest)).not.toContain(line.split(":")[1]?.trim());
  });

  it("apply keeps fields that other clients have set", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl, client } = cluster;
    await kubectl.run("apply -f -", { input: configManifest });
    await client.patch(configMapType, settings, { type: "merge", body: { data: { shape: "round" } } });
    await kubectl.run("apply -f -", { input: configManifest.replace("red", "blue") });
    expect((await client.get(configMapType, settings)).data).toEqual({ color: "blue", size: "large", shape: "round" });
  });

  it("apply of a Pod changes its image and rejects other changes", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await kubectl.run("apply -f -", { input: podManifest });
    expect(await kubectl.run("apply -f -", { input: podManifest })).toBe("pod/worker unchanged");
    const image = podManifest.replace("worker:1", "worker:2");
    expect(await kubectl.run("apply -f -", { input: image })).toBe("pod/worker configured");
    expect(await kubectl.fail("apply -f -", { input: podManifest.replace("8080", "8081") })).toContain(
      "spec: Forbidden: pod updates may not change fields other than",
    );
  });

  it("an unknown field is rejected with its path, or dropped with a warning with --validate=warn", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    const input = sandboxManifest.replace("spec:\n  pod", "spec:\n  operatngMode: Suspended\n  pod");
    expect(await kubectl.fail("apply -f -", { input })).toContain(
      'Sandbox in version "v1beta1" cannot be handled as a Sandbox: strict decoding error: unknown field "spec.operatngMode"',
    );
    const lenient = await kubectl.call(["apply", "--validate=warn", "-f", "-"], { input });
    expect(lenient).toMatchObject({ code: 0, stderr: expect.stringContaining('unknown field "spec.operatngMode"') });
  });

  it("an invalid manifest is rejected with every cause", async () => {
    await using cluster = await openCluster(binary);
    const input = `${sandboxManifest}  service: "x"\n  operatingMode: Asleep\n`;
    const complaint = await cluster.kubectl.fail("create -f -", { input });
    expect(complaint).toContain('The Sandbox "hello" is invalid:');
    expect(complaint).toContain(
      'spec.service: Invalid value: "string": spec.service in body must be of type boolean: "string"',
    );
    expect(complaint).toContain(
      'spec.operatingMode: Unsupported value: "Asleep": supported values: "Running", "Suspended"',
    );
  });

  it("create creates an object once", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    expect(await kubectl.run("create configmap c --from-literal=a=1")).toBe("configmap/c created");
    expect(await kubectl.fail("create configmap c --from-literal=a=1")).toContain('configmaps "c" already exists');
    expect(await kubectl.run("create namespace team")).toBe("namespace/team created");
    expect(await kubectl.run("create secret generic s --from-literal=key=value -n team")).toBe("secret/s created");
    expect(await kubectl.run("get secret s -n team -o jsonpath={.data.key}")).toBe("dmFsdWU=");
  });

  it("a server-side dry run changes nothing", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    const created = await kubectl.run("apply --dry-run=server -f -", { input: sandboxManifest });
    expect(created).toBe("sandbox.agents.x-k8s.io/hello created (server dry run)");
    expect(await kubectl.run("get sandboxes -o name")).toBe("");
  });

  it("edit sends the content that the editor saved", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl, client } = cluster;
    await kubectl.run("apply -f -", { input: sandboxManifest });
    const environment = { KUBE_EDITOR: "sed -i s/Running/Suspended/" };
    expect(await kubectl.run("edit sandbox hello", { environment })).toBe("sandbox.agents.x-k8s.io/hello edited");
    expect((await client.get(sandboxType, hello)).spec.operatingMode).toBe("Suspended");
  });

  it.each([
    ["merge", '{"data":{"color":null,"shape":"round"}}'],
    ["strategic", '{"data":{"color":null,"shape":"round"}}'],
    ["json", '[{"op":"remove","path":"/data/color"},{"op":"add","path":"/data/shape","value":"round"}]'],
  ])("patch --type %s changes only its fields", async (type, patch) => {
    await using cluster = await openCluster(binary);
    const { kubectl, client } = cluster;
    await kubectl.run("apply -f -", { input: configManifest });
    await kubectl.run(`patch configmap settings --type ${type} -p '${patch}'`);
    expect((await client.get(configMapType, settings)).data).toEqual({ size: "large", shape: "round" });
  });

  it("a sandbox is suspended and resumed by a merge patch, and rejects a strategic one", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await kubectl.run("apply -f -", { input: sandboxManifest });
    const patch = `-p '{"spec":{"operatingMode":"Suspended"}}'`;
    expect(await kubectl.run(`patch sandbox hello --type merge ${patch}`)).toBe(
      "sandbox.agents.x-k8s.io/hello patched",
    );
    expect(await kubectl.fail(`patch sandbox hello ${patch}`)).toContain(
      "strategic-merge-patch+json is not supported by agents.x-k8s.io/v1beta1",
    );
  });

  it("label and annotate set and remove", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await kubectl.run("apply -f -", { input: sandboxManifest });
    expect(await kubectl.run("label sandbox hello team=a")).toBe("sandbox.agents.x-k8s.io/hello labeled");
    expect(await kubectl.run("get sandbox -l team=a -o name")).toBe("sandbox.agents.x-k8s.io/hello");
    expect(await kubectl.fail("label sandbox hello team=b")).toContain("already has a value (a)");
    expect(await kubectl.run("label sandbox hello team-")).toBe("sandbox.agents.x-k8s.io/hello unlabeled");
    expect(await kubectl.run("annotate sandbox hello note=x")).toBe("sandbox.agents.x-k8s.io/hello annotated");
    expect(await kubectl.fail("label sandbox hello 'team=a b'")).toContain("a valid label must be");
  });

  it("scale sets the replicas of kinds with a scale subresource", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    const input = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata: {name: pool}
spec: {replicas: 1, sandboxTemplateRef: {name: template}}
`;
    await kubectl.run("apply -f -", { input });
    expect(await kubectl.run("scale swp pool --replicas=3")).toBe(
      "sandboxwarmpool.extensions.agents.x-k8s.io/pool scaled",
    );
    expect(await kubectl.run("get swp pool -o jsonpath={.spec.replicas}")).toBe("3");
  });
});
