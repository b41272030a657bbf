// Valid objects of all four kinds in both versions, generated from a seed. Each optional field may be absent.
import type {
  SandboxClaimV1alpha1,
  SandboxTemplateV1alpha1,
  SandboxV1alpha1,
  SandboxWarmPoolV1alpha1,
} from "../../../api/conversion/v1alpha1.ts";
import type { ObjectMeta } from "../../../api/kinds/meta.ts";
import type { Blueprint, Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import { injectionPolicies, type SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import type { SandboxWarmPool } from "../../../api/kinds/sandbox-warm-pool.ts";
import { volumeClaimTemplatesPolicyAnnotation } from "../../../api/rules/keys.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { core, extensions } from "./versions.ts";

const words = ["nova", "my-pool", "a", "red-team", "x-1", "shadow", "default-2"];
const times = ["2026-01-01T00:00:00Z", "2031-07-09T12:30:59Z"];

function metadata(random: SeededRandom, annotations: Readonly<Record<string, string>> = {}): ObjectMeta {
  const all = { ...annotations, ...random.maybe(() => ({ "example.com/note": random.oneOf(["", "ü\n", '{"a":1}']) })) };
  return {
    name: `${random.oneOf(words)}-${random.below(1_000)}`,
    namespace: random.oneOf(words),
    uid: `uid-${random.below(1e9)}`,
    ...random.maybe(() => ({ labels: { app: random.oneOf(words) } })),
    ...(Object.keys(all).length > 0 && { annotations: all }),
    ...random.maybe(() => ({ finalizers: ["example.com/wait"] })),
  };
}

function blueprint(random: SeededRandom): Blueprint {
  return {
    podTemplate: {
      spec: { containers: [{ name: "main", image: random.oneOf(words) }] },
      ...random.maybe(() => ({ metadata: { labels: { tier: random.oneOf(words) } } })),
    },
    ...random.maybe(() => ({ volumeClaimTemplates: random.oneOf([[], [{ metadata: { name: "data" }, spec: {} }]]) })),
    ...random.maybe(() => ({ service: random.oneOf([true, false]) })),
  };
}

function autoFields(random: SeededRandom) {
  return {
    ...random.maybe(() => ({
      autoSuspension: random.oneOf([
        {},
        { inactivityTimeoutSeconds: random.below(900) },
        { unansweredLimitSeconds: random.below(900) },
      ]),
    })),
    ...random.maybe(() => ({
      autoResume: {
        trigger: random.oneOf(["Connection", "Never"] as const),
        allowFrom: random.oneOf(["Namespace", "Cluster", "Any"] as const),
      },
    })),
    ...random.maybe(() => ({
      suspensionStrategy: random.oneOf([
        {},
        { type: "Stop" as const },
        { type: "Hibernate" as const, onFailure: "StayAwake" as const, timeoutSeconds: random.below(900) + 1 },
      ]),
    })),
  };
}

const sharedSandboxSpec = (random: SeededRandom) => ({
  ...blueprint(random),
  ...autoFields(random),
  ...random.maybe(() => ({ shutdownTime: random.oneOf(times) })),
  ...random.maybe(() => ({ shutdownPolicy: random.oneOf(["Delete", "Retain"] as const) })),
});

const sharedSandboxStatus = (random: SeededRandom) => ({
  serviceFQDN: "nova.lab.svc.cluster.local",
  ...random.maybe(() => ({ podIPs: ["10.0.0.1"] })),
  ...random.maybe(() => ({ lastActivityTime: random.oneOf(times) })),
  ...random.maybe(() => ({
    hibernation: { state: "Stopped" as const, lastWake: { mode: "Anew" as const, podUID: "p" } },
  })),
});

const sharedClaimSpec = (random: SeededRandom) => ({
  ...random.maybe(() => ({ lifecycle: { ttlSecondsAfterFinished: random.below(99) } })),
  ...random.maybe(() => ({ additionalPodMetadata: { labels: { app: random.oneOf(words) } } })),
  ...random.maybe(() => ({ env: [{ name: "A", value: random.oneOf(words) }] })),
});

const claimStatus = (random: SeededRandom) =>
  random.maybe(() => ({ status: { sandbox: { name: `${random.oneOf(words)}-abcde`, podIPs: ["10.0.0.1"] } } }));

const poolStatus = (random: SeededRandom) => ({ readyReplicas: random.below(9), selector: "a=b" });

export const generatedAlpha = {
  Sandbox: (random: SeededRandom): SandboxV1alpha1 => ({
    apiVersion: core.alpha,
    kind: "Sandbox",
    metadata: metadata(random),
    spec: { ...sharedSandboxSpec(random), ...random.maybe(() => ({ replicas: random.below(2) })) },
    ...random.maybe(() => ({
      status: { ...sharedSandboxStatus(random), ...random.maybe(() => ({ replicas: random.below(2) })) },
    })),
  }),
  SandboxClaim: (random: SeededRandom): SandboxClaimV1alpha1 => ({
    apiVersion: extensions.alpha,
    kind: "SandboxClaim",
    metadata: metadata(random),
    spec: {
      ...sharedClaimSpec(random),
      sandboxTemplateRef: { name: random.oneOf(words) },
      ...random.maybe(() => ({ warmpool: random.oneOf(["none", "default", "", ...words]) })),
    },
    ...claimStatus(random),
  }),
  SandboxTemplate: (random: SeededRandom): SandboxTemplateV1alpha1 => ({
    apiVersion: extensions.alpha,
    kind: "SandboxTemplate",
    metadata: metadata(
      random,
      random.maybe(() => ({ [volumeClaimTemplatesPolicyAnnotation]: random.oneOf(injectionPolicies) })),
    ),
    spec: {
      ...blueprint(random),
      ...autoFields(random),
      ...random.maybe(() => ({ networkPolicy: { ingress: [] } })),
      ...random.maybe(() => ({ envVarsInjectionPolicy: random.oneOf(injectionPolicies) })),
    },
  }),
  SandboxWarmPool: (random: SeededRandom): SandboxWarmPoolV1alpha1 => ({
    apiVersion: extensions.alpha,
    kind: "SandboxWarmPool",
    metadata: metadata(random),
    spec: {
      replicas: random.below(5),
      sandboxTemplateRef: { name: random.oneOf(words) },
      ...random.maybe(() => ({ updateStrategy: { type: "Recreate" as const } })),
    },
    ...random.maybe(() => ({ status: poolStatus(random) })),
  }),
};

/** Without fields that `v1alpha1` does not have, and with defaults that a conversion makes explicit. */
export const generatedBeta = {
  Sandbox: (random: SeededRandom): Sandbox => ({
    apiVersion: core.beta,
    kind: "Sandbox",
    metadata: metadata(random),
    spec: { ...sharedSandboxSpec(random), operatingMode: random.oneOf(["Running", "Suspended"]) },
    ...random.maybe(() => ({ status: sharedSandboxStatus(random) })),
  }),
  SandboxClaim: (random: SeededRandom): SandboxClaim => ({
    apiVersion: extensions.beta,
    kind: "SandboxClaim",
    metadata: metadata(random),
    spec: {
      ...sharedClaimSpec(random),
      warmPoolRef: { name: random.oneOf(words) },
    },
    ...claimStatus(random),
  }),
  SandboxTemplate: (random: SeededRandom): SandboxTemplate => ({
    apiVersion: extensions.beta,
    kind: "SandboxTemplate",
    metadata: metadata(random),
    spec: {
      ...blueprint(random),
      ...autoFields(random),
      ...random.maybe(() => ({ volumeClaimTemplatesPolicy: random.oneOf(injectionPolicies) })),
    },
  }),
  SandboxWarmPool: (random: SeededRandom): SandboxWarmPool => ({
    apiVersion: extensions.beta,
    kind: "SandboxWarmPool",
    metadata: metadata(random),
    spec: { replicas: random.below(5), sandboxTemplateRef: { name: random.oneOf(words) } },
    ...random.maybe(() => ({ status: poolStatus(random) })),
  }),
};
