import { expect, it } from "vitest";
import { leadsToReadyPods } from "./release-ready.ts";

const pod = (podIP: string, ready: "True" | "False" = "True") => ({
  status: { podIP, conditions: [{ type: "Ready", status: ready }] },
});
const slice = (...addresses: readonly string[]) => ({
  endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
});
const ended = { status: { phase: "Succeeded", conditions: [{ type: "Ready", status: "False" }] } } as const;
const two = [pod("198.19.0.2"), pod("198.19.0.3")];

it.each([
  ["ready Pods that the Service leads to", two, [slice("198.19.0.2", "198.19.0.3")], true],
  ["an address of a Pod from before the restart", two, [slice("198.19.0.2", "198.19.0.9")], false],
  ["a Service without an address", two, [slice()], false],
  ["a Pod that is not ready", [...two, pod("198.19.0.4", "False")], [slice("198.19.0.2")], false],
  ["a Pod that has ended", [...two, ended], [slice("198.19.0.2", "198.19.0.3")], true],
  ["Pods that have all ended", [ended], [], false],
  ["no Pod", [], [], false],
])("%s: the release is ready, or not", (_, pods, slices, ready) => {
  expect(leadsToReadyPods(pods, slices)).toBe(ready);
});
