import { readFileSync, statSync } from "node:fs";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { release } from "../../cluster/install-chart.ts";
import { systemClock } from "../../lib/clock.ts";
import { type ClusterUnderTest, connectToCluster } from "./support/cluster-under-test.ts";
import { openTestNamespace } from "./support/workload.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const restMs = 120_000;
const count = 200;

it(`asks the API server for nothing but watches and the lease in two minutes with ${count} sandboxes that sleep`, {
  timeout: restMs + 180_000,
}, async () => {
  await using test = await openTestNamespace(cluster);
  await test.apply(...Array.from({ length: count }, (_, at) => sandbox(`quiet-${at}`)));
  await test.run("wait", "sandbox", "--all", "--for=condition=Suspended", "--timeout=120s");
  // What was written last is still being seen and told of in events.
  await systemClock.sleep(5_000);
  const auditLog = inject("auditLog");
  const startByte = statSync(auditLog).size;
  await systemClock.sleep(restMs);
  const calls = readFrom(auditLog, startByte).filter(isOurs).map(inWords);
  expect(new Set(calls)).toContain("update leases");
  expect([...new Set(calls)].filter((call) => !/^(watch .+|(get|update) leases)$/.test(call))).toEqual([]);
});

const sandbox = (name: string) => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name },
  spec: {
    operatingMode: "Suspended",
    podTemplate: { spec: { containers: [{ name: "main", image: "rouse.invalid/nothing:1" }] } },
  },
});

/** What the API server's audit log tells of one call. */
interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string };
}

const isOurs = ({ user }: AuditEvent) => user.username.startsWith(`system:serviceaccount:${release.namespace}:`);
const inWords = ({ verb, objectRef, requestURI }: AuditEvent) => `${verb} ${objectRef?.resource ?? requestURI}`;

function readFrom(file: string, startByte: number): readonly AuditEvent[] {
  const text = readFileSync(file).subarray(startByte).toString();
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as AuditEvent);
}
