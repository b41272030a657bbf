import { expect, it } from "vitest";
import { type Component, imageSbom, type NpmSbom, serialNumberOf } from "./sbom.ts";

const library = (name: string): Component => ({ type: "library", "bom-ref": `${name}@1.0.0`, name, version: "1.0.0" });

const npm: NpmSbom = {
  metadata: { component: library("rouse"), tools: [{ vendor: "npm", name: "cli", version: "11.0.0" }] },
  components: [library("direct"), library("indirect"), library("vitest")],
  dependencies: [
    { ref: "rouse@1.0.0", dependsOn: ["direct@1.0.0", "vitest@1.0.0"] },
    { ref: "direct@1.0.0", dependsOn: ["indirect@1.0.0", "vitest@1.0.0"] },
    { ref: "indirect@1.0.0" },
    { ref: "vitest@1.0.0", dependsOn: ["indirect@1.0.0"] },
  ],
};

const contents = {
  program: "controller",
  architecture: "arm64",
  version: "1.2.3",
  digest: "sha256:aa",
  packages: new Set(["direct@1.0.0", "indirect@1.0.0"]),
  base: [library("libc6")],
  created: "2026-01-01T00:00:00Z",
};

it("the SBOM of an image names what is in the image and in its base, and nothing else", () => {
  const sbom = imageSbom(npm, contents);
  expect(sbom.components.map(({ name }) => name)).toEqual(["libc6", "direct", "indirect"]);
  expect(sbom.dependencies).toEqual([
    { ref: "controller@sha256:aa", dependsOn: ["libc6@1.0.0", "direct@1.0.0"] },
    { ref: "libc6@1.0.0", dependsOn: [] },
    { ref: "direct@1.0.0", dependsOn: ["indirect@1.0.0"] },
    { ref: "indirect@1.0.0", dependsOn: [] },
  ]);
  expect(sbom.metadata.component.purl).toBe("pkg:oci/controller@sha256%3Aaa?arch=arm64&tag=1.2.3");
});

it("an image with a package that npm's SBOM lacks gets no SBOM", () => {
  expect(() => imageSbom(npm, { ...contents, packages: new Set(["pino@9.0.0"]) })).toThrow(
    "npm's SBOM lacks what is in the image: pino@9.0.0",
  );
});

it("the serial number of an SBOM follows from its content", () => {
  expect(imageSbom(npm, contents)).toEqual(imageSbom(npm, contents));
  expect(imageSbom(npm, { ...contents, digest: "sha256:bb" }).serialNumber).not.toBe(
    imageSbom(npm, contents).serialNumber,
  );
});

it("a serial number is a UUID of version 8 and the variant of RFC 9562, as CycloneDX writes it", () => {
  for (let at = 0; at < 200; at += 1) {
    expect(serialNumberOf(`content ${at}`)).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  }
});
