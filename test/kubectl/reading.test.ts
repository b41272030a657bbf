import { describe, expect, it } from "vitest";
import { eventType, podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { openCluster } from "./cluster.ts";
import { findBinaries } from "./kubectl.ts";
import { configManifest, podManifest, sandboxManifest } from "./manifests.ts";

const hello = { name: "hello", namespace: "default" };

describe.each(await findBinaries())("kubectl $version reads", (binary) => {
  it("get prints the columns of the definition", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await kubectl.run("apply -f -", { input: sandboxManifest });
    const [head, row] = (await kubectl.run("get sandboxes")).split("\n");
    expect(head).toMatch(/^NAME +READY +REASON +AGE$/);
    expect(row).toMatch(/^hello +\d+s$/);
    expect(await kubectl.run("get sandbox hello -o name")).toBe("sandbox.agents.x-k8s.io/hello");
    expect(await kubectl.run("get sandbox -A")).toMatch(/^NAMESPACE +NAME/);
    expect(await kubectl.run("get sandbox -o wide")).toMatch(/^NAME +READY +REASON +AGE +MODE/);
  });

  it("get prints objects as YAML, JSON and by path", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await kubectl.run("apply -f -", { input: sandboxManifest });
    expect(await kubectl.run("get sandbox hello -o yaml")).toContain("operatingMode: Running");
    expect(JSON.parse(await kubectl.run("get sandboxes -o json"))).toMatchObject({
      kind: "List",
      items: [{ kind: "Sandbox", metadata: hello }],
    });
    expect(await kubectl.run("get sandbox hello -o jsonpath={.spec.operatingMode}")).toBe("Running");
  });

  it("get pods shows ready, status and restarts, and with -o wide also address and node", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl, client } = cluster;
    await kubectl.run("create -f -", { input: podManifest });
    const container = { name: "main", image: "example/worker:1", imageID: "", ready: true, restartCount: 0 };
    const status = {
      phase: "Running",
      podIP: "127.0.0.9",
      containerStatuses: [{ ...container, state: { running: { startedAt: "2026-01-01T00:00:00Z" } } }],
    };
    const worker = { name: "worker", namespace: "default" };
    await client.patch(podType, worker, { type: "merge", body: { spec: { nodeName: "laptop" } } });
    await client.patch(podType, worker, { type: "merge", body: { status } }, { subresource: "status" });
    expect(await kubectl.run("get pods")).toMatch(
      /^NAME +READY +STATUS +RESTARTS +AGE\nworker +1\/1 +Running +0 +\d+s$/,
    );
    expect(await kubectl.run("get pods -o wide")).toMatch(/127\.0\.0\.9 +laptop +<none> +<none>$/);
    expect(await kubectl.run("get pods --field-selector=spec.nodeName=laptop -o name")).toBe("pod/worker");
    expect(await kubectl.run("get pods -l app=worker -o name")).toBe("pod/worker");
    expect(await kubectl.run("get pods -l app!=worker -o name")).toBe("");
    expect(await kubectl.run("describe pod worker")).toMatch(/IP: +127\.0\.0\.9/);
  });

  it("get -w prints a row for each change", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl, client } = cluster;
    await kubectl.run("apply -f -", { input: sandboxManifest });
    await using watch = kubectl.follow("get sandbox hello -w -o wide");
    await watch.until(/hello .*Running/);
    await client.patch(sandboxType, hello, { type: "merge", body: { spec: { operatingMode: "Suspended" } } });
    await watch.until(/hello .*Suspended/);
  });

  it("get reports an object that does not exist", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    expect(await kubectl.fail("get sandbox nobody")).toBe(
      'Error from server (NotFound): sandboxes.agents.x-k8s.io "nobody" not found',
    );
    expect(await kubectl.fail("get deployments")).toBe(`error: the server doesn't have a resource type "deployments"`);
  });

  it("describe prints an object with its events", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl, client } = cluster;
    await kubectl.run("apply -f -", { input: sandboxManifest });
    const { metadata } = await client.get(sandboxType, hello);
    await client.create(eventType, {
      metadata: { name: "hello.1", namespace: "default" },
      eventTime: "2026-01-01T00:00:00.000000Z",
      regarding: { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", ...hello, uid: metadata.uid },
      type: "Normal",
      reason: "Resumed",
      note: "woken by a connection",
      action: "Resume",
      reportingController: "example.com/controller",
      reportingInstance: "controller-1",
    });
    const described = await kubectl.run("describe sandbox hello");
    expect(described).toMatch(/Operating Mode: +Running/);
    expect(described).toMatch(/Normal +Resumed +.*woken by a connection/);
    expect(await kubectl.run("get events")).toMatch(/Normal +Resumed +sandbox\/hello +woken by a connection$/);
    expect(await kubectl.run("get events.events.k8s.io -o jsonpath={.items[0].note}")).toBe("woken by a connection");
    expect(await kubectl.run("events --for sandbox/hello")).toContain("woken by a connection");
  });

  it("get prints the built-in kinds as any API server does", async () => {
    await using cluster = await openCluster(binary);
    const { kubectl } = cluster;
    await kubectl.run("apply -f -", { input: configManifest });
    await kubectl.run("create service clusterip web --tcp=80:8080");
    expect(await kubectl.run("get configmaps")).toMatch(/^NAME +DATA +AGE\nsettings +2 +\d+s$/);
    expect(await kubectl.run("get services")).toMatch(/web +ClusterIP +127\.96\.0\.1 +<none> +80\/TCP +\d+s/);
    expect(await kubectl.run("get namespaces")).toMatch(/default +Active +\d+s/);
    expect(await kubectl.run("get crd -o name")).toContain("sandboxes.agents.x-k8s.io");
    expect(await kubectl.run("get all -o name")).toContain("service/web");
    expect(await kubectl.run("describe service web")).toMatch(/TargetPort: +8080\/TCP/);
  });
});
