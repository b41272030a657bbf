import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { busyboxPod, openTestNamespace } from "../support/workload.ts";
import { sentriesOf } from "./node-agent.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const serve = "mkdir /tmp/www; echo hello > /tmp/www/index.html; echo started; exec httpd -f -p 8080 -h /tmp/www";
const page = { httpGet: { port: 8080, path: "/index.html" }, periodSeconds: 1 };

/** A Pod with a server, in gVisor. */
function guest(container: object) {
  const { spec, ...pod } = busyboxPod("guest", serve, container);
  return { ...pod, spec: { ...spec, runtimeClassName: "gvisor" } };
}

describe("a Pod of the RuntimeClass", () => {
  it("runs in gVisor, with logs, exec and an address, and its kernel ends with it", async () => {
    await using test = await openTestNamespace(cluster);
    await test.apply(guest({ readinessProbe: page }));
    await test.run("wait", "pod/guest", "--for=condition=Ready", "--timeout=60s");
    const { metadata, status } = JSON.parse(await test.run("get", "pod", "guest", "--output=json"));

    expect(await test.run("exec", "guest", "--", "dmesg")).toContain("Starting gVisor");
    expect(await test.run("logs", "guest")).toBe("started\n");
    expect(await (await fetch(`http://${status.podIP}:8080/index.html`)).text()).toBe("hello\n");

    expect(sentriesOf(metadata.uid)).toHaveLength(1);
    await test.run("delete", "pod", "guest", "--timeout=60s");
    await eventually(() => sentriesOf(metadata.uid).length === 0);
  });

  it("is probed by commands and by requests, and restarted if it fails", async () => {
    await using test = await openTestNamespace(cluster);
    const readinessProbe = { exec: { command: ["test", "-e", "/tmp/ready"] }, periodSeconds: 1 };
    await test.apply(guest({ readinessProbe, livenessProbe: { ...page, failureThreshold: 2 } }));
    const inContainer = async (path: string) =>
      (await test.run("get", "pod", "guest", `--output=jsonpath={.status.containerStatuses[0].${path}}`)).trim();
    await eventually(async () => (await inContainer("started")) === "true");
    expect(await inContainer("ready")).toBe("false");
    await test.run("exec", "guest", "--", "touch", "/tmp/ready");
    await eventually(async () => (await inContainer("ready")) === "true");

    await test.run("exec", "guest", "--", "rm", "/tmp/www/index.html");
    await eventually(async () => (await inContainer("restartCount")) === "1");
  });
});
