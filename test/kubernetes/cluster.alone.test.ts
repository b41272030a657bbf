import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../lib/time/clock.ts";
import { type ClusterUnderTest, connectToCluster } from "./support/cluster-under-test.ts";
import { eventually } from "./support/eventually.ts";
import { busyboxPod, openTestNamespace, serviceOf } from "./support/workload.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

describe("the cluster", () => {
  it("runs a Pod within five seconds", async () => {
    await using test = await openTestNamespace(cluster);
    const startMs = systemClock.ticksMs();
    await test.apply(busyboxPod("quick", "echo I run; exec sleep 3600"));
    await test.run("wait", "pod/quick", "--for=condition=Ready", "--timeout=60s");
    expect(systemClock.ticksMs() - startMs).toBeLessThan(5_000);
    await eventually(async () => (await test.run("logs", "quick")) === "I run\n");
  });

  it("lets a Pod find a Service by its name, and connect to it", async () => {
    await using test = await openTestNamespace(cluster);
    await test.apply(
      busyboxPod("backend", "mkdir /www; echo hello > /www/index.html; exec httpd -f -p 8080 -h /www"),
      serviceOf("backend", "web", { port: 80, targetPort: 8080 }),
      busyboxPod("client", "exec sleep 3600"),
    );
    await test.run("wait", "pod/backend", "pod/client", "--for=condition=Ready", "--timeout=60s");
    const name = `web.${test.namespace}.svc.cluster.local`;
    const address = (await test.run("get", "service", "web", "--output=jsonpath={.spec.clusterIP}")).trim();
    expect(await test.run("exec", "client", "--", "nslookup", name)).toContain(`Address: ${address}`);
    // kube-proxy may take a second to see a new endpoint.
    const fetchUntilServed = "for i in 1 2 3 4 5 6; do wget -qO- http://web && exit 0; sleep 0.5; done; exit 1";
    expect(await test.run("exec", "client", "--", "sh", "-c", fetchUntilServed)).toBe("hello\n");
  });

  it("keeps the files of a claim after the Pod that wrote them was deleted", async () => {
    await using test = await openTestNamespace(cluster);
    const claim = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    };
    const withData = (name: string, command: string) => {
      const pod = busyboxPod(name, command, { volumeMounts: [{ name: "data", mountPath: "/data" }] });
      const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
      return { ...pod, spec: { ...pod.spec, volumes } };
    };
    await test.apply(claim, withData("writer", "echo kept > /data/file; exec sleep 3600"));
    await test.run("wait", "pod/writer", "--for=condition=Ready", "--timeout=60s");
    await test.run("delete", "pod", "writer");
    await test.apply(withData("reader", "cat /data/file; exec sleep 3600"));
    await test.run("wait", "pod/reader", "--for=condition=Ready", "--timeout=60s");
    await eventually(async () => (await test.run("logs", "reader")) === "kept\n");
  });
});
