import { describe, expect, it } from "vitest";
import { serviceType } from "../../../api/kinds/core.ts";
import { type NetworkPolicy, networkPolicyType } from "../../../api/kinds/network-policy.ts";
import { type SandboxSpec, sandboxType } from "../../../api/kinds/sandbox.ts";
import { sandboxTemplateType } from "../../../api/kinds/sandbox-template.ts";
import {
  adoptableLabel,
  podNameAnnotation,
  sandboxNameHashLabel,
  templateRefAnnotation,
  templateRefHashLabel,
} from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { type ClaimLab, openClaimLab } from "../../support/labs/claim-lab.ts";

const namespace = "default";
const objects = 40;
const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }] } };
const selected = { [templateRefHashLabel]: nameHash("t") };

const exceeded = new ApiError(403, {
  ...{ apiVersion: "v1", kind: "Status", code: 403, reason: "Forbidden" },
  message: "exceeded quota: q",
});

interface Case {
  readonly what: string;
  /** The kind whose creation is refused. */
  readonly refused: string;
  readonly begin: (lab: ClaimLab) => Promise<unknown>;
  /** One write of a tenant. */
  readonly write: (lab: ClaimLab, at: number) => Promise<unknown>;
}

const eachObject = async (make: (at: number) => Promise<unknown>) => {
  for (let at = 0; at < objects; at += 1) await make(at);
};

const sandboxes = (lab: ClaimLab, metadata: object, spec: Partial<SandboxSpec> = {}) =>
  eachObject((at) =>
    lab.client.create(sandboxType, {
      metadata: { namespace, name: `s-${at}`, ...metadata },
      spec: { podTemplate, ...spec },
    }),
  );

const policySpec = (port: number): NonNullable<NetworkPolicy["spec"]> => ({
  podSelector: { matchLabels: selected },
  policyTypes: ["Ingress"],
  ingress: [{ ports: [{ port }] }],
});

const cases: readonly Case[] = [
  {
    what: "a NetworkPolicy that selects their Pods",
    refused: "Pod",
    async begin(lab) {
      await lab.client.create(networkPolicyType, { metadata: { namespace, name: "mine" }, spec: policySpec(1) });
      await sandboxes(lab, { labels: selected, annotations: { [templateRefAnnotation]: "t" } });
    },
    write: (lab, at) => lab.patch(networkPolicyType, "mine", { spec: policySpec(at + 2) }),
  },
  {
    what: "a Service with the name that they say their Pod has",
    refused: "Pod",
    async begin(lab) {
      await lab.client.create(serviceType, {
        metadata: { namespace, name: "same", labels: { [sandboxNameHashLabel]: "x" } },
        spec: { clusterIP: "None" },
      });
      await sandboxes(lab, { annotations: { [podNameAnnotation]: "same" } });
    },
    write: (lab, at) =>
      lab.patch(serviceType, "same", { metadata: { labels: { [adoptableLabel]: String(at % 2 === 0) } } }),
  },
  {
    what: "the template of claims",
    refused: "Sandbox",
    async begin(lab) {
      await lab.template();
      await lab.pool(0);
      await eachObject((at) => lab.claim(`c-${at}`));
    },
    write: (lab, at) =>
      lab.patch(sandboxTemplateType, "template", {
        spec: { podTemplate: { metadata: { labels: { at: String(at) } } } },
      }),
  },
];

describe("many objects whose requests are refused", () => {
  it.each(cases)(
    "are not all tried again at each write of $what",
    { timeout: 60_000 },
    async ({ refused, begin, write }) => {
      await using lab = await openClaimLab();
      const clock = new FakeClock(systemClock.now());
      let attempts = 0;
      await using _controller = await lab.startController({
        clock,
        flags: ["--activator-namespace="],
        intercept: async (call, proceed) => {
          if (call.verb !== "create" || call.kind !== refused) return proceed();
          attempts += 1;
          throw exceeded;
        },
      });
      await begin(lab);
      const pass = async (ms: number) => {
        for (let passedMs = 0; passedMs < ms; passedMs += 100) {
          await clock.advance(100);
          await systemClock.sleep(2);
        }
      };
      await pass(60_000);
      expect(attempts).toBeGreaterThan(objects);
      attempts = 0;
      for (let at = 0; at < 40; at += 1) {
        await write(lab, at);
        await pass(100);
      }
      // In four seconds fifty at once, ten a second, and those that come in their time: not forty for each write.
      expect(attempts).toBeLessThan(200);
    },
  );
});
