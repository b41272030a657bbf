import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { imageSettings } from "./image-settings.ts";

it("an image of a release runs as the last stage of its Dockerfile says", () => {
  expect(imageSettings(readFileSync("Dockerfile.controller", "utf8"))).toEqual({
    WorkingDir: "/app",
    User: "65532:65532",
    Env: ["NODE_ENV=production"],
    ExposedPorts: { "8080/tcp": {}, "8081/tcp": {}, "9443/tcp": {} },
    Entrypoint: ["node", "--max-semi-space-size=16", "--heap-growing-percent=70", "controller/main.js"],
  });
});

it("a Dockerfile with an instruction that a release cannot follow is rejected", () => {
  expect(() => imageSettings('FROM base\nRUN ["install", "something"]\n')).toThrow(
    'the Dockerfile has an instruction that a release does not know: RUN ["install", "something"]',
  );
});
