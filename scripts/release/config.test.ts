import { expect, it } from "vitest";
import { parseReleaseConfig } from "./config.ts";

it("a dry run needs nothing, and leaves registry and base image at their defaults", () => {
  expect(parseReleaseConfig(["--dry-run"])).toEqual({
    action: "make",
    tag: undefined,
    registry: "registry.example.com/rouse",
    base: undefined,
    out: undefined,
    publishOnly: undefined,
    signKey: undefined,
  });
});

it("nothing is published without a registry and a key", () => {
  expect(() => parseReleaseConfig([])).toThrow("--registry is required to publish");
  expect(() => parseReleaseConfig(["--registry=ghcr.io/us/rouse"])).toThrow("--sign-key is required to publish");
  expect(parseReleaseConfig(["--registry=localhost:5000/rouse", "--sign-key=key.pem"]).action).toBe("make and publish");
});

it.each(["https://ghcr.io/us", "ghcr.io/Us", "ghcr.io/us/", ""])("rejects the registry %j", (registry) => {
  expect(() => parseReleaseConfig(["--dry-run", `--registry=${registry}`])).toThrow("is not a host with a path");
});

it("a release that was made before is published with its registry and key, and with nothing to make", () => {
  const wanted = ["--publish-only=dist/0.1.0", "--registry=ghcr.io/us/rouse", "--sign-key=key.pem"];
  expect(parseReleaseConfig(wanted)).toMatchObject({ action: "publish", publishOnly: "dist/0.1.0", out: undefined });
  expect(() => parseReleaseConfig(wanted.slice(0, 1))).toThrow("--registry is required to publish");
  expect(() => parseReleaseConfig(wanted.slice(0, 2))).toThrow("--sign-key is required to publish");
  for (const other of ["--dry-run", "--check", "--tag=v0.1.0", "--base=node", "--out=dist"])
    expect(() => parseReleaseConfig([...wanted, other])).toThrow("exclude each other");
});
