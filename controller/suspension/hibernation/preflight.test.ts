import { expect, it } from "vitest";
import type { PodSpec } from "../../../api/kinds/pod.ts";
import { type MemoryProvider, noProvider } from "./memory-provider.ts";
import { preflight } from "./preflight.ts";

const able: MemoryProvider = { preflight: () => undefined };
const gvisor: PodSpec = { containers: [{ name: "main" }], runtimeClassName: "gvisor" };
const plain: PodSpec = { containers: [] };
const from = (spec: PodSpec) => ({ podTemplate: { spec } });
const pod = (spec: PodSpec) => ({ metadata: { name: "nova" }, spec });

it("a preflight says that the controller runs without --hibernation", () => {
  const refusal = { reason: "NoProvider", message: "the controller runs without --hibernation" };
  expect(preflight(from(gvisor), pod(gvisor), noProvider)).toEqual(refusal);
  expect(preflight(from(gvisor), undefined, noProvider)).toEqual(refusal);
  expect(preflight(from(gvisor), pod(gvisor), able)).toBeUndefined();
});

it("a preflight begins with what the owner can change, and says the rest too", () => {
  expect(preflight(from({ ...plain, hostNetwork: true }), undefined, noProvider)).toEqual({
    reason: "RuntimeClassNotSet",
    message:
      "runtimeClassName of the Pod is not set; the Pod uses the network of its node; the controller runs without --hibernation",
  });
});

it("a preflight is about the Pod that the sandbox has, and not about its template", () => {
  const debugged = pod({ ...gvisor, ephemeralContainers: [{ name: "debugger" }] });
  expect(preflight(from(gvisor), debugged, able)).toMatchObject({ reason: "EphemeralContainers" });
  expect(preflight(from(plain), pod(gvisor), able)).toBeUndefined();
});
