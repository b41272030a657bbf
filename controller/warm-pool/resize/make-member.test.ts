import { describe, expect, it } from "vitest";
import { safeToEvictAnnotation } from "../../../api/rules/keys.ts";
import { controlledBy } from "../../../test/support/builders/builders.ts";
import { aPool, aTemplate, templatePodSpec } from "../../../test/support/builders/extension-builders.ts";
import { currentBlueprint } from "../../blueprint/current-blueprint.ts";
import { makeMember } from "./make-member.ts";

const made = (template = aTemplate(), evictable = true, pool = aPool()) =>
  makeMember("warm-x2k4q", pool, { object: template, blueprint: currentBlueprint(template) }, evictable);

describe("a new member", () => {
  it("has the labels and annotations by which it is found", () => {
    const { blueprintHash, podTemplateHash } = currentBlueprint(aTemplate());
    const member = made();
    const onBoth = {
      "agents.x-k8s.io/warm-pool-sandbox": expect.any(String),
      "agents.x-k8s.io/sandbox-template-ref-hash": "9d22159f",
      "agents.x-k8s.io/sandbox-pod-template-hash": podTemplateHash,
      "agents.x-k8s.io/sandbox-template-hash": blueprintHash,
    };
    expect(member.metadata).toEqual({
      name: "warm-x2k4q",
      generateName: "warm-",
      namespace: "lab",
      labels: { ...onBoth, "agents.x-k8s.io/launch-type": "warm", "agents.x-k8s.io/created-by": "controller" },
      annotations: {
        "agents.x-k8s.io/sandbox-template-ref": "tpl",
        "agents.x-k8s.io/pod-name": "warm-x2k4q",
      },
      ownerReferences: [controlledBy(aPool())],
    });
    expect(member.spec.podTemplate.metadata?.labels).toEqual(onBoth);
    expect(member.spec).not.toHaveProperty("operatingMode");
  });

  it("names its pool by a hash", () => {
    const { labels } = made(aTemplate(), true, aPool({}, { name: "my-warm-pool" })).metadata;
    expect(labels).toMatchObject({ "agents.x-k8s.io/warm-pool-sandbox": "034dafb4" });
  });

  it.each([
    { evictable: true, says: undefined, expected: "true" },
    { evictable: true, says: "true", expected: "true" },
    { evictable: true, says: "false", expected: "false" },
    { evictable: false, says: undefined, expected: undefined },
    { evictable: false, says: "true", expected: "true" },
    { evictable: false, says: "false", expected: "false" },
  ])("evictable $evictable with a template that says $says is $expected", ({ evictable, says, expected }) => {
    const metadata = { annotations: { ...(says !== undefined && { [safeToEvictAnnotation]: says }) } };
    const template = aTemplate({ podTemplate: { spec: templatePodSpec, metadata } });
    const annotations = made(template, evictable).spec.podTemplate.metadata?.annotations;
    expect(annotations?.[safeToEvictAnnotation]).toBe(expected);
  });
});
