import { expect, it } from "vitest";
import type { Container, PodSpec } from "../../../api/kinds/pod.ts";
import { runHashOf } from "./run-hash.ts";

const main: Container = { name: "main", image: "busybox:1", command: ["sh"], args: ["-c", "true"] };
const spec: PodSpec = { containers: [main], runtimeClassName: "gvisor" };
const withMain = (change: Partial<Container>): PodSpec => ({ ...spec, containers: [{ ...main, ...change }] });

it.each<[string, PodSpec]>([
  ["image", withMain({ image: "busybox:2" })],
  ["command", withMain({ command: ["bash"] })],
  ["arguments", withMain({ args: ["-c", "false"] })],
  ["environment", withMain({ env: [{ name: "A", value: "1" }] })],
  ["environment from elsewhere", withMain({ envFrom: [{ secretRef: { name: "s" } }] })],
  ["limits", withMain({ resources: { limits: { memory: "1Gi" } } })],
  ["mounts", withMain({ volumeMounts: [{ name: "v", mountPath: "/v" }] })],
  ["volumes", { ...spec, volumes: [{ name: "v", emptyDir: {} }] }],
  ["runtime class", { ...spec, runtimeClassName: "other" }],
  ["containers", { ...spec, containers: [main, { name: "other" }] }],
])("a Pod with another %s runs something else", (_, other) => {
  expect(runHashOf(other)).not.toBe(runHashOf(spec));
});

it("a Pod runs the same wherever it runs, and in whatever order its fields are written", () => {
  const elsewhere = { nodeSelector: { zone: "b" }, nodeName: "n2", affinity: {}, terminationGracePeriodSeconds: 5 };
  const { containers, ...rest } = spec;
  expect(runHashOf({ ...elsewhere, ...rest, containers })).toBe(runHashOf(spec));
  expect(runHashOf(spec)).toMatch(/^[0-9a-f]{64}$/);
});
