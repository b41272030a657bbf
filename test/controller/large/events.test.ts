import { describe, expect, it } from "vitest";
import type { KubeObject, ObjectMeta, Stored } from "../../../api/kinds/meta.ts";
import type { Container, Pod, PodSpec } from "../../../api/kinds/pod.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { controllerIndexes } from "../../../controller/claim/observe.ts";
import { standingOf } from "../../../controller/ownership.ts";
import { podIndexes } from "../../../controller/sandbox/observe.ts";
import { childNameIndexes } from "../../../controller/sandbox/queue/namesakes.ts";
import { volumeClaimIndexes } from "../../../controller/sandbox/volumes/claim-changes.ts";
import { slimPod, slimVolumeClaim } from "../../../controller/start-informers.ts";
import { isOfStatusAlone } from "../../../controller/start-kind.ts";
import { refusalsOfSpec } from "../../../controller/suspension/hibernation/pod-rules.ts";
import { templateHashIndexes } from "../../../controller/template/policy-users.ts";
import { memberIndexes } from "../../../controller/warm-pool/members.ts";
import { podAddressIndexes } from "../../../controller/webhook/peer-shares.ts";
import { IndexedStore } from "../../../kube/informer/indexed-store.ts";
import { aPodOf, aSandbox, stored } from "../../support/builders/builders.ts";
import { cpuMs } from "../../support/cpu-time.ts";

// A tenant may change its object many times a second, and no turn is between the events of a watch and the renewal of a Lease.
const eventMsMax = 150;

const size = 1_400_000;
const filled = (part: string): string => part.repeat(size / part.length);
const many = <T>(count: number, of: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => of(at));
const map = (count: number) => Object.fromEntries(many(count, (at) => [`users.example.org/l${at}`, "x"]));
const uid = { name: "UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } };

/** The least of three times: the first includes compilation, and any may include a garbage collection. */
const expectQuick = (event: () => unknown) =>
  expect(Math.min(...[1, 2, 3].map(() => cpuMs(event)))).toBeLessThan(eventMsMax);

describe("a watch event of a Pod of 1.4 MB is quick", () => {
  const podIndex = { ...podIndexes, ...templateHashIndexes, ...podAddressIndexes };
  const texts = ["$", "$(a)", "$(", "$()", "$$(a)", "(", "metadata.uid", "status.podIP"].map(filled);
  const containers: readonly Partial<Container>[] = [
    ...texts.flatMap((text) => [
      { env: [{ name: "a", value: text }] },
      { args: [text] },
      { env: [uid, { name: "a", value: text }], args: [text] },
      { env: [uid, { name: "b", valueFrom: { fieldRef: { fieldPath: text } } }] },
    ]),
    { env: [uid, ...many(35_000, (at) => ({ name: `V${at}`, value: "$(UID)" }))] },
    { resources: { limits: map(50_000), requests: map(50_000) } },
  ];
  const specs: readonly PodSpec[] = [
    ...containers.map((container) => ({ containers: [{ name: "main", ...container }] })),
    { containers: many(40_000, (at) => ({ name: `c${at}`, env: [] })) },
    { containers: [], volumes: many(20_000, (at) => ({ name: `v${at}`, persistentVolumeClaim: { claimName: "c" } })) },
  ];
  const sandbox = aSandbox();

  it.each(specs.map((spec) => [JSON.stringify(spec).slice(0, 90), spec] as const))("with the spec %s", (_, spec) => {
    const store = new IndexedStore<Pod, keyof typeof podIndex>(podIndex);
    expectQuick(() => store.put(slimPod({ ...aPodOf(sandbox), spec })));
    expectQuick(() => refusalsOfSpec({ ...spec }));
  });
});

describe("a watch event of an object with 1.4 MB of metadata is quick", () => {
  const owners = many(20_000, (at) => ({ apiVersion: "a.b/v1", kind: "K", name: "n", uid: String(100_000 + at) }));
  const parts: Readonly<Record<string, Partial<ObjectMeta>>> = {
    owners: { ownerReferences: owners },
    finalizers: { finalizers: many(60_000, (at) => `users.example.org/${at}`) },
    labels: { labels: map(45_000) },
    annotations: { annotations: map(45_000) },
  };
  const sandboxIndex = {
    ...{ ...memberIndexes, ...controllerIndexes, ...templateHashIndexes, ...volumeClaimIndexes, ...childNameIndexes },
  };

  it.each(Object.entries(parts))("with %s", (_, part) => {
    const objectAt = (version: string) =>
      aSandbox({}, structuredClone({ ...part, resourceVersion: version })) as Stored<Sandbox & KubeObject>;
    const [previous, current] = [objectAt("1"), objectAt("2")];
    const sandboxes = new IndexedStore<Sandbox, keyof typeof sandboxIndex>(sandboxIndex);
    expectQuick(() => sandboxes.put(current));
    expectQuick(() => isOfStatusAlone({ key: "lab/nova", previous, current }));
    expectQuick(() => slimPod(aPodOf(aSandbox(), part)));
    expectQuick(() => slimVolumeClaim({ metadata: stored("data", part) }));
    expectQuick(() => standingOf(previous) === standingOf(current));
  });
});
