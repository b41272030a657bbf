import { afterAll, beforeAll, expect, it } from "vitest";
import { managedByLabel, tcpFrontManager, tcpFrontSliceName } from "../../api/between-programs/tcp-front.ts";
import { tcpFrontAnnotation } from "../../api/rules/keys.ts";
import { release } from "../../cluster/release/install-chart.ts";
import { type ClusterUnderTest, connectToCluster } from "./support/cluster-under-test.ts";
import { eventually } from "./support/eventually.ts";
import { openTestNamespace } from "./support/workload.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** The administrator has all rights, so only the admission policy refuses. */
async function asAdministrator(method: string, path: string, body?: object) {
  const response = await cluster.fetch(`${cluster.url}${path}`, requestOf(method, body));
  return { code: response.status, text: await response.text() };
}

async function asController(method: string, path: string, body?: object) {
  const account = ["agent-sandbox-controller", `--namespace=${release.namespace}`];
  const token = (await cluster.kubectl.run(["create", "token", ...account])).trim();
  const response = await cluster.fetchAs(token, `${cluster.url}${path}`, requestOf(method, body));
  return { code: response.status, text: await response.text() };
}

function requestOf(method: string, body?: object) {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  return { method, headers: { "content-type": type }, ...(body && { body: JSON.stringify(body) }) };
}

const allowed = (code: number) => expect.objectContaining({ code });
const denied = {
  code: 422,
  text: expect.stringContaining("only the controller of sandboxes may write its EndpointSlices"),
};

const slicesIn = (namespace: string) => `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;

const ours = { [managedByLabel]: tcpFrontManager };
const aSlice = (name: string, labels: Readonly<Record<string, string>>) => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name, labels },
  addressType: "IPv4",
  endpoints: [],
});

/** Its Pod never exists. Its EndpointSlice does, because connections may wake it. */
const suspended = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "a" },
  spec: {
    operatingMode: "Suspended",
    service: true,
    autoResume: {},
    podTemplate: {
      spec: { containers: [{ name: "main", image: "rouse.invalid/nothing:1", ports: [{ containerPort: 5432 }] }] },
    },
  },
};

/** The path of the EndpointSlice of a new sandbox, which exists. */
async function untilSliceExists(test: Awaited<ReturnType<typeof openTestNamespace>>): Promise<string> {
  await test.apply(suspended);
  const uid = await test.run("get", "sandbox", "a", "--output=jsonpath={.metadata.uid}");
  const path = `${slicesIn(test.namespace)}/${tcpFrontSliceName(uid)}`;
  await eventually(async () => (await asAdministrator("GET", path)).code === 200);
  return path;
}

it("the controller writes the EndpointSlice of a sandbox, and an administrator cannot change it", async () => {
  await using test = await openTestNamespace(cluster);
  const path = await untilSliceExists(test);
  const change = (metadata: object) => asAdministrator("PATCH", path, { metadata });
  expect(await change({ annotations: { [tcpFrontAnnotation]: "{}" } })).toEqual(denied);
  expect(await change({ labels: { mine: "true" } })).toEqual(denied);
  expect(await change({ labels: { [managedByLabel]: null } })).toEqual(denied);
  expect(await asAdministrator("DELETE", `${path}?dryRun=All`)).toEqual(allowed(200));
});

interface Change {
  readonly metadata?: object;
  readonly endpoints?: readonly object[];
  readonly ports?: readonly object[];
}

/** Writes the slice with a change, again while somebody else writes in between. */
async function rewrite(as: typeof asAdministrator, path: string, { metadata, ...change }: Change) {
  for (;;) {
    const slice = JSON.parse((await asAdministrator("GET", path)).text);
    const answer = await as("PUT", path, { ...slice, ...change, metadata: { ...slice.metadata, ...metadata } });
    if (answer.code !== 409) return answer;
  }
}

it("a tool may write an EndpointSlice of the controller again as it is, and change nothing in it", async () => {
  await using test = await openTestNamespace(cluster);
  const path = await untilSliceExists(test);
  expect(await rewrite(asAdministrator, path, {})).toEqual(allowed(200));
  expect(await rewrite(asAdministrator, path, { endpoints: [{ addresses: ["192.0.2.1"] }] })).toEqual(denied);
  expect(await rewrite(asAdministrator, path, { ports: [{ name: "main", port: 9999 }] })).toEqual(denied);
});

it("the garbage collector may remove finalizers of an EndpointSlice, and nobody may add one", async () => {
  await using test = await openTestNamespace(cluster);
  const path = await untilSliceExists(test);
  const write = (as: typeof asAdministrator, ...finalizers: readonly string[]) =>
    rewrite(as, path, { metadata: { finalizers } });
  expect(await write(asAdministrator, "rouse.dev/a")).toEqual(denied);
  expect(await write(asController, "rouse.dev/a", "rouse.dev/b")).toEqual(allowed(200));
  expect(await write(asAdministrator, "rouse.dev/a", "rouse.dev/c")).toEqual(denied);
  expect(await write(asAdministrator, "rouse.dev/a")).toEqual(allowed(200));
  expect(await write(asAdministrator)).toEqual(allowed(200));
});

it("nobody else makes an EndpointSlice with the label of the controller, or puts the label on one", async () => {
  await using test = await openTestNamespace(cluster);
  const path = slicesIn(test.namespace);
  expect(await asAdministrator("POST", path, aSlice("theirs", ours))).toEqual(denied);
  expect(await asAdministrator("POST", path, aSlice("mine", {}))).toEqual(allowed(201));
  expect(await asAdministrator("PATCH", `${path}/mine`, { metadata: { labels: ours } })).toEqual(denied);
  expect(await asAdministrator("PATCH", `${path}/mine`, { metadata: { labels: { mine: "true" } } })).toEqual(
    allowed(200),
  );
});
