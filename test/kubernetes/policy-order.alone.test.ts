import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { release } from "../../cluster/release/install-chart.ts";
import { type ClusterUnderTest, connectToCluster } from "./support/cluster-under-test.ts";
import { eventually } from "./support/eventually.ts";
import { openTestNamespace } from "./support/workload.ts";

// Helm and kubectl write policies and bindings one by one, and may stop in between.
const name = "sandbox-router-may-only-wake";
const byName = `${name}-by-name`;
const former = "request.userInfo.username == 'system:serviceaccount:agent-sandbox-system:sandbox-router'";

interface Policy {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly paramKind?: object;
    readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly { readonly expression: string; readonly message: string }[];
  };
}
interface Binding {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly paramRef?: object };
}

let cluster: ClusterUnderTest;
let token: string;
let policy: Policy;
let policyByName: Policy;
let bindings: readonly Binding[];
let roleBinding: { readonly metadata: object; readonly subjects?: readonly object[] };

async function get<T>(kind: string, called: string): Promise<T> {
  const { metadata, ...rest } = JSON.parse(await cluster.kubectl.run(["get", kind, called, "--output=json"]));
  const { labels, annotations } = metadata;
  return { ...rest, metadata: { name: called, labels, annotations } };
}
const replace = (...objects: readonly object[]) =>
  cluster.kubectl.run(["replace", "--filename=-"], JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));

beforeAll(async () => {
  cluster = await connectToCluster();
  const namespace = `--namespace=${release.namespace}`;
  token = (await cluster.kubectl.run(["create", "token", "sandbox-router", namespace])).trim();
  policy = await get("validatingadmissionpolicy", name);
  policyByName = await get("validatingadmissionpolicy", byName);
  bindings = await Promise.all([name, byName].map((each) => get<Binding>("validatingadmissionpolicybinding", each)));
  roleBinding = await get("clusterrolebinding", "sandbox-router");
});
afterAll(() => cluster[Symbol.asyncDispose]());

// Here the right does not depend on the ClusterRoleBinding that the policy reads.
const spare = "sandbox-router-in-a-test";
beforeEach(async () => {
  const account = `--serviceaccount=${release.namespace}:sandbox-router`;
  await cluster.kubectl.run(["create", "clusterrolebinding", spare, "--clusterrole=sandbox-router", account]);
});
afterEach(async () => {
  await cluster.kubectl.apply([policy, policyByName, ...bindings, roleBinding]);
  // Only now: the activators of the cluster never lack the right.
  await cluster.kubectl.run(["delete", "clusterrolebinding", spare]);
});

const sandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "a" },
  spec: {
    operatingMode: "Suspended",
    podTemplate: { spec: { containers: [{ name: "main", image: "rouse.invalid/nothing:1" }] } },
  },
};

/** A policy in effect is told by its message: a write of the activator that it rejects has it. */
function withMessage(written: Policy, message: string): Policy {
  const validations = written.spec.validations.map((validation) => ({ ...validation, message }));
  return { ...written, spec: { ...written.spec, validations } };
}

const withoutParams = ({ spec: { paramRef: _, ...spec }, ...binding }: Binding) => ({ ...binding, spec });

/** The policy of the former chart: it names the service account, and reads no ClusterRoleBinding. */
function formerPolicy(): Policy {
  const { paramKind: _, ...spec } = policy.spec;
  return { ...policy, spec: { ...spec, matchConditions: [{ name: "it-is-the-activator", expression: former }] } };
}

const previous = join(import.meta.dirname, "support", "previous-activator-policy.yaml");

/** The policy of the previous release: without a ClusterRoleBinding, its expression is an error. */
const previousPolicy = (): Policy => parseAllDocuments(readFileSync(previous, "utf8"))[0]?.toJS();

const deleteBinding = (called: string) => cluster.kubectl.run(["delete", "validatingadmissionpolicybinding", called]);

const states: readonly (readonly [string, () => Promise<unknown>])[] = [
  [
    "its new policy has the binding of the former chart",
    async () => {
      await deleteBinding(byName);
      await replace(...bindings.slice(0, 1).map(withoutParams));
    },
  ],
  ["the ClusterRoleBinding is missing", () => cluster.kubectl.run(["delete", "clusterrolebinding", "sandbox-router"])],
  ["the ClusterRoleBinding has no subjects", () => replace({ ...roleBinding, subjects: [] })],
  ["its policy is bound by the ClusterRoleBinding alone", () => deleteBinding(byName)],
];

describe("while the activator's policy is written or broken", () => {
  const change = { spec: { operatingMode: "Running", service: true } };

  async function expectOnlyTheActivatorRejected(written: Policy): Promise<void> {
    await using test = await openTestNamespace(cluster);
    await test.apply(sandbox);
    const path = `/apis/agents.x-k8s.io/v1beta1/namespaces/${test.namespace}/sandboxes/a?dryRun=All`;
    const headers = { "content-type": "application/merge-patch+json" };
    const message = `rejected in ${test.namespace}`;
    // The API server names one policy that rejects, and does not say which comes first.
    await replace(withMessage(written, message), withMessage(policyByName, message));
    await eventually(async () => {
      const init = { method: "PATCH", headers, body: JSON.stringify(change) };
      const answer = await cluster.fetchAs(token, `${cluster.url}${path}`, init);
      return answer.status === 422 && (await answer.text()).includes(message);
    });
    const answer = await cluster.fetch(`${cluster.url}${path}`, {
      method: "PATCH",
      headers,
      body: JSON.stringify(change),
    });
    expect({ code: answer.status, text: await answer.text() }).toMatchObject({ code: 200 });
  }

  it.each(states)("others may write sandboxes, and the activator may not, if %s", async (_state, enter) => {
    await enter();
    await expectOnlyTheActivatorRejected(policy);
  });

  it("others may write sandboxes, and the activator may not, if the former policy has the new bindings", async () => {
    await expectOnlyTheActivatorRejected(formerPolicy());
  });

  it("others may write sandboxes, and the activator may not, if the policy is of the previous release", async () => {
    await expectOnlyTheActivatorRejected(previousPolicy());
  });
});
