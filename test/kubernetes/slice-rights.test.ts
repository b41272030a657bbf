import { afterAll, beforeAll, expect, it } from "vitest";
import { managedByLabel, tcpFrontManager, tcpFrontSliceName } from "../../api/protocols/tcp-front.ts";
import { tcpFrontAnnotation } from "../../api/rules/keys.ts";
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
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const response = await cluster.fetch(`${cluster.url}${path}`, {
    method,
    headers: { "content-type": type },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { code: response.status, text: await response.text() };
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

it("the controller writes the EndpointSlice of a sandbox, and an administrator cannot change it", async () => {
  await using test = await openTestNamespace(cluster);
  await test.apply(suspended);
  const uid = await test.run("get", "sandbox", "a", "--output=jsonpath={.metadata.uid}");
  const path = `${slicesIn(test.namespace)}/${tcpFrontSliceName(uid)}`;
  await eventually(async () => (await asAdministrator("GET", path)).code === 200);
  const change = (metadata: object) => asAdministrator("PATCH", path, { metadata });
  expect(await change({ annotations: { [tcpFrontAnnotation]: "{}" } })).toEqual(denied);
  expect(await change({ labels: { mine: "true" } })).toEqual(denied);
  expect(await change({ labels: { [managedByLabel]: null } })).toEqual(denied);
  expect(await asAdministrator("DELETE", `${path}?dryRun=All`)).toEqual(allowed(200));
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
