import { describe, expect, it } from "vitest";
import { podType } from "../kinds/core.ts";
import type { KubeObject, OwnerReference, Stored } from "../kinds/meta.ts";
import { sandboxType } from "../kinds/sandbox.ts";
import { controllerOfKind, ownershipOf } from "./ownership.ts";

const reference: OwnerReference = {
  ...{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "nova", uid: "uid-of-nova" },
  controller: true,
};
const nova: Stored<KubeObject> = {
  metadata: { name: "nova", namespace: "lab", uid: "uid-of-nova", resourceVersion: "1", creationTimestamp: "" },
};
const child = (changed: Partial<OwnerReference> = {}, namespace = "lab"): KubeObject => ({
  metadata: { name: "nova", namespace, ownerReferences: [{ ...reference, ...changed }] },
});

describe("the owner of an object", () => {
  it.each([
    { why: "is its controller, by UID", object: child(), is: "owned" },
    { why: "is absent without a controller", object: { metadata: { namespace: "lab" } }, is: "unowned" },
    { why: "is absent if its owner does not control it", object: child({ controller: false }), is: "unowned" },
    { why: "is another object if the UID differs", object: child({ uid: "of another nova" }), is: "foreign" },
    { why: "is never an object of another namespace", object: child({}, "elsewhere"), is: "foreign" },
  ])("$why", ({ object, is }) => {
    expect(ownershipOf(object, nova)).toBe(is);
  });
});

describe("the kind of the managing controller", () => {
  it("is matched by kind and group, in any version", () => {
    expect(controllerOfKind(child(), sandboxType)?.uid).toBe("uid-of-nova");
    expect(controllerOfKind(child({ apiVersion: "agents.x-k8s.io/v1alpha1" }), sandboxType)).toBeDefined();
  });

  it("and not of another one, nor by a reference that does not control", () => {
    expect(controllerOfKind(child({ kind: "SandboxClaim" }), sandboxType)).toBeUndefined();
    expect(controllerOfKind(child({ apiVersion: "example.com/v1" }), sandboxType)).toBeUndefined();
    expect(controllerOfKind(child({ controller: false }), sandboxType)).toBeUndefined();
    expect(controllerOfKind(child(), podType)).toBeUndefined();
  });
});
