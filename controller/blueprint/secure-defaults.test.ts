import { describe, expect, it } from "vitest";
import type { PodSpec } from "../../api/kinds/pod.ts";
import type { SandboxTemplateSpec } from "../../api/kinds/sandbox-template.ts";
import { templatePodSpec } from "../../test/support/builders/extension-builders.ts";
import { securePodSpec } from "./secure-defaults.ts";

const secured = (pod: Partial<PodSpec> = {}, template: Partial<SandboxTemplateSpec> = {}) =>
  securePodSpec({ podTemplate: { spec: { ...templatePodSpec, ...pod } }, ...template });
const publicDns = { dnsPolicy: "None", dnsConfig: { nameservers: ["8.8.8.8", "1.1.1.1"] } };

describe("the Pod that a template means", () => {
  it("gets no token, and asks public resolvers behind the built-in policy", () => {
    const expected = { ...templatePodSpec, automountServiceAccountToken: false, ...publicDns };
    expect(secured()).toEqual(expected);
    expect(secured({}, { networkPolicyManagement: "Managed" })).toEqual(expected);
  });

  it.each([true, false])("keeps automountServiceAccountToken: %s where it says so", (automount) => {
    expect(secured({ automountServiceAccountToken: automount }).automountServiceAccountToken).toBe(automount);
  });

  it("resolves names as the cluster does where no policy is managed, or it has one of its own", () => {
    const untouched = { ...templatePodSpec, automountServiceAccountToken: false };
    expect(secured({}, { networkPolicyManagement: "Unmanaged" })).toEqual(untouched);
    expect(secured({}, { networkPolicy: {} })).toEqual(untouched);
  });

  it("keeps a dnsPolicy of its template with its name servers, and else has only ours", () => {
    const dnsConfig = { nameservers: ["10.0.0.10"] };
    expect(secured({ dnsPolicy: "ClusterFirst", dnsConfig })).toMatchObject({ dnsPolicy: "ClusterFirst", dnsConfig });
    expect(secured({ dnsPolicy: "", dnsConfig })).toMatchObject(publicDns);
  });
});
