import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clusterLayout } from "../e2e/support/components.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { busyboxPod, openTestNamespace } from "../support/workload.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const serve = "mkdir /tmp/www; echo hello > /tmp/www/index.html; echo started; exec httpd -f -p 8080 -h /tmp/www";
const page = { httpGet: { port: 8080, path: "/index.html" }, periodSeconds: 1 };

/** A Pod with a server, in gVisor. */
function guest(container: object, annotations: Readonly<Record<string, string>> = {}) {
  const { metadata, spec, ...pod } = busyboxPod("guest", serve, container);
  return { ...pod, metadata: { ...metadata, annotations }, spec: { ...spec, runtimeClassName: "gvisor" } };
}

const textOf = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // the process has ended
  }
};

/** The processes of gVisor's kernel in the cgroup of a Pod. */
const sentriesOf = (uid: string): readonly string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => textOf(`/proc/${pid}/cgroup`).includes(uid))
    .filter((pid) => textOf(`/proc/${pid}/cmdline`).startsWith("runsc-sandbox"));

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

  it("starts anew if it asks for its memory, which our shim does not restore yet", async () => {
    await using test = await openTestNamespace(cluster);
    const image = `image-of-${test.namespace}`;
    await test.apply(guest({ readinessProbe: page }, { "hibernation.rouse.dev/image": image }));
    await test.run("wait", "pod/guest", "--for=condition=Ready", "--timeout=60s");

    const [status] = JSON.parse(await test.run("get", "pod", "guest", "--output=jsonpath={.status.containerStatuses}"));
    const container = new URL(status.containerID).host;
    const said = textOf(clusterLayout().log("containerd"))
      .split("\n")
      .filter((line) => line.includes(image));
    expect(said).toHaveLength(2); // for the container of the program, and for the one that holds the Pod together
    expect(said.join()).toContain(`container ${container} starts anew`);
  });
});
