import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { chartValues } from "./chart.ts";
import { oneManifest, withImages } from "./manifests.ts";

const registry = "registry.example.com/rouse";
const images = {
  controller: { file: "", name: "controller", digest: "sha256:cc" },
  activator: { file: "", name: "activator", digest: "sha256:aa" },
  "node-agent": { file: "", name: "node-agent", digest: "sha256:bb" },
};
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

it("package.json and the chart have the same version", () => {
  const chart = parse(readFileSync("charts/rouse/Chart.yaml", "utf8"));
  expect([chart.version, chart.appVersion]).toEqual([version, version]);
});

it("the manifest of a release names both images by registry and digest", () => {
  const manifest = ["controller", "activator"].map((name) => readFileSync(`k8s/${name}.yaml`, "utf8")).join("---\n");
  const released = withImages(manifest, { version, registry, images });
  expect(released.match(/image: .+/g)).toEqual([
    `image: ${registry}/controller@sha256:cc`,
    `image: ${registry}/activator@sha256:aa`,
  ]);
});

it("several manifests become one, without empty documents", () => {
  const texts = ["k8s/namespace.yaml", ...globSync("crds/*.yaml")].map((file) => readFileSync(file, "utf8"));
  const kinds = parseAllDocuments(oneManifest(texts)).map((document) => document.toJS()?.kind);
  expect(kinds).toEqual(["Namespace", ...Array(4).fill("CustomResourceDefinition")]);
});

it("a manifest with an image of another version is rejected", () => {
  expect(() => withImages("image: rouse.dev/controller:9.9.9\n", { version, registry, images })).toThrow(
    `no manifest has "image: rouse.dev/controller:${version}"`,
  );
});

it("the chart of a release has its images as defaults, and is else as it was, with all comments", () => {
  const before = readFileSync("charts/rouse/values.yaml", "utf8").split("\n");
  const after = chartValues(before.join("\n"), registry, images).split("\n");
  expect(after.length).toBe(before.length);
  expect(after.filter((line, at) => line !== before[at]).map((line) => line.trim())).toEqual([
    `repository: ${registry}/controller`,
    'digest: "sha256:cc"',
    `repository: ${registry}/activator`,
    'digest: "sha256:aa"',
    `repository: ${registry}/node-agent`,
    'digest: "sha256:bb"',
  ]);
});
