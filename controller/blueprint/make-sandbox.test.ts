import { expect, it } from "vitest";
import { podNameAnnotation, templateRefAnnotation, templateRefHashLabel } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { controlledBy, noon } from "../../test/support/builders/builders.ts";
import { aPool, aTemplate, templatePodSpec } from "../../test/support/builders/extension-builders.ts";
import { currentBlueprint } from "./current-blueprint.ts";
import { autoFieldsPatch, makeSandbox } from "./make-sandbox.ts";

const owner = controlledBy(aPool());
const made = (template = aTemplate()) =>
  makeSandbox(template, currentBlueprint(template), {
    owner,
    named: { name: "nova" },
    labels: { own: "label" },
    podLabels: { pod: "label" },
  });

it("a sandbox has the trace of its template, and what its creator adds", () => {
  const ofTemplate = { [templateRefHashLabel]: nameHash("tpl") };
  expect(made()).toEqual({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: {
      name: "nova",
      namespace: "lab",
      labels: { own: "label", ...ofTemplate },
      annotations: { [templateRefAnnotation]: "tpl", [podNameAnnotation]: "nova" },
      ownerReferences: [owner],
    },
    spec: {
      podTemplate: {
        metadata: { labels: { pod: "label", ...ofTemplate } },
        spec: expect.objectContaining({ ...templatePodSpec, automountServiceAccountToken: false }),
      },
    },
  });
});

it("a sandbox gets the volumes and the Service of its template", () => {
  const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }];
  expect(made(aTemplate({ volumeClaimTemplates, service: true })).spec).toMatchObject({
    volumeClaimTemplates,
    service: true,
  });
  expect(made(aTemplate({ service: false })).spec.service).toBe(false);
});

it("a sandbox is suspended and resumed as its template says, and takes no other field of the template", () => {
  const suspensionStrategy = { type: "Hibernate" } as const;
  const auto = {
    autoSuspension: { inactivityTimeoutSeconds: 60 },
    autoResume: { timeoutSeconds: 5 },
    suspensionStrategy,
  };
  const { spec } = made(aTemplate({ ...auto, envVarsInjectionPolicy: "Allowed", networkPolicy: {} }));
  expect(spec).toMatchObject(auto);
  expect(Object.keys(spec).sort()).toEqual(["autoResume", "autoSuspension", "podTemplate", "suspensionStrategy"]);
});

it("labels and annotations of the template's Pod stay, but for those that are the controller's", () => {
  const labels = { team: "a", [templateRefHashLabel]: "forged" };
  const template = aTemplate({
    podTemplate: { spec: templatePodSpec, metadata: { labels, annotations: { note: "b" } } },
  });
  expect(made(template).spec.podTemplate.metadata).toEqual({
    labels: { team: "a", pod: "label", [templateRefHashLabel]: nameHash("tpl") },
    annotations: { note: "b" },
  });
});

it("an existing sandbox takes changes of sleeping and waking from its template, and only the changes", () => {
  const was = { autoSuspension: { inactivityTimeoutSeconds: 60, keepAwakeUntil: noon }, autoResume: {} };
  const is = { autoSuspension: { inactivityTimeoutSeconds: 90 }, autoResume: {} };
  expect(autoFieldsPatch(was, is)).toEqual({
    autoSuspension: { inactivityTimeoutSeconds: 90, keepAwakeUntil: null },
  });
  expect(autoFieldsPatch(was, { ...was, suspensionStrategy: { type: "Hibernate" } })).toEqual({
    suspensionStrategy: { type: "Hibernate" },
  });
  expect(autoFieldsPatch(was, {})).toEqual({ autoSuspension: null, autoResume: null });
  expect(autoFieldsPatch({}, is)).toEqual(is);
  expect(autoFieldsPatch(is, is)).toBeUndefined();
  expect(autoFieldsPatch({}, {})).toBeUndefined();
});
