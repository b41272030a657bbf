import { describe, expect, it } from "vitest";
import type { ObjectMeta } from "../../../api/kinds/meta.ts";
import { adoptableLabel } from "../../../api/rules/keys.ts";
import {
  aClaimOf,
  aPodOf,
  aSandbox,
  controlledBy,
  noon,
  someoneElse,
  trackingLabelsOf,
} from "../../../test/support/builders/builders.ts";
import { anObservation } from "../../../test/support/builders/observed.ts";
import { partOf } from "../actions.ts";
import { decide } from "../decide.ts";
import type { Observed } from "../observed.ts";
import { volumeClaimIndexes } from "./claim-changes.ts";
import { decideVolumeClaims } from "./decide-volume-claims.ts";

const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const template = { metadata: { name: "data", labels: { tier: "gold" }, annotations: { note: "x" } }, spec };
const sandbox = aSandbox({ volumeClaimTemplates: [template] });
const act = (metadata?: Partial<ObjectMeta>) => {
  const claims = metadata ? new Map([["data-nova", aClaimOf(sandbox, metadata)]]) : new Map();
  return decideVolumeClaims(anObservation({ sandbox, claims }), true);
};

describe("the PersistentVolumeClaim of a Sandbox", () => {
  it("is made from its template, with the hash", () => {
    expect(act()).toEqual([
      {
        do: "createClaim",
        claim: {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: {
            name: "data-nova",
            namespace: "lab",
            labels: { tier: "gold", ...trackingLabelsOf(sandbox) },
            annotations: { note: "x" },
            ownerReferences: [controlledBy(sandbox)],
          },
          spec,
        },
      },
    ]);
  });

  it("is left as it is once it is ours", () => {
    expect(act({ labels: {} })).toEqual([]);
  });

  it("is an error when it is another owner's, and decided before the Pod and the Service", () => {
    const claims = new Map([["data-nova", aClaimOf(sandbox, { ownerReferences: [someoneElse] })]]);
    const { actions } = decide(anObservation({ sandbox, claims }));
    expect(actions.map((action) => action.do)).toEqual(["refuse", "createPod", "recordPodName"]);
  });

  it.each([
    { owner: "ours", ownerReferences: undefined },
    { owner: "for us", ownerReferences: [] },
  ] as const)(
    "is an error while it is $owner and being deleted, but only if a Pod is to start",
    ({ ownerReferences }) => {
      const metadata = { deletionTimestamp: noon, ...(ownerReferences && { ownerReferences }) };
      const claims = new Map([["data-nova", aClaimOf(sandbox, metadata)]]);
      const about = (seen: Partial<Observed>) =>
        decide(anObservation({ sandbox, claims, ...seen })).actions.filter((action) => partOf(action) === "claims");
      const why = "PersistentVolumeClaim data-nova is being deleted";
      expect(about({})).toEqual([{ do: "refuse", part: "claims", why, untilChanged: false }]);
      expect(about({ pods: [aPodOf(sandbox)] })).toEqual([]);
      const suspended = { ...sandbox, spec: { ...sandbox.spec, operatingMode: "Suspended" as const } };
      expect(about({ sandbox: suspended })).toEqual([]);
    },
  );

  it.each([
    { why: "allows it", labels: { [adoptableLabel]: "true" } },
    { why: "has the tracking label", labels: trackingLabelsOf(sandbox) },
  ])("is adopted, and not changed, when it $why", ({ labels }) => {
    expect(act({ ownerReferences: [], labels })).toMatchObject([
      {
        do: "adoptClaim",
        claim: { metadata: { name: "data-nova" } },
        patch: { metadata: { ownerReferences: [controlledBy(sandbox)] } },
      },
    ]);
  });

  it("is not an object that was not given to the Sandbox", () => {
    expect(act({ ownerReferences: [], labels: {} })).toMatchObject([{ do: "refuse", part: "claims" }]);
  });
});

describe("the PersistentVolumeClaims of a Sandbox with many", () => {
  const many = (count: number) =>
    aSandbox({
      volumeClaimTemplates: Array.from({ length: count }, (_, at) => ({ metadata: { name: `d${at}` }, spec })),
    });

  it("are decided as far as a pass writes them, and one more, which keeps the Pod from starting", () => {
    const actions = decideVolumeClaims(anObservation({ sandbox: many(1_000) }), true);
    expect(actions.map((action) => action.do)).toEqual(Array.from({ length: 11 }, () => "createClaim"));
    const nine = new Map(
      Array.from({ length: 991 }, (_, at) => [`d${at}-nova`, aClaimOf(many(1), { name: `d${at}-nova` })]),
    );
    expect(decideVolumeClaims(anObservation({ sandbox: many(1_000), claims: nine }), true)).toHaveLength(9);
  });

  it("are refused until the Sandbox changes when there are more than 1,000, and so is its Pod", () => {
    const { actions } = decide(anObservation({ sandbox: many(1_001) }));
    const why = "the Sandbox has 1001 volumeClaimTemplates, and may have at most 1000";
    expect(actions).toEqual([{ do: "refuse", part: "claims", why, untilChanged: true }]);
  });

  it("are in no index when there are more than 1,000", () => {
    expect(volumeClaimIndexes.volumeClaim(many(1_000))).toHaveLength(1_000);
    expect(volumeClaimIndexes.volumeClaim(many(1_001))).toEqual([]);
  });
});
