import { describe, expect, it } from "vitest";
import type { Container, VolumeMount } from "../../../api/kinds/core.ts";
import { placeInVolume } from "./container-place.ts";

const directories = new Map([
  ["data", "/v/data"],
  ["deep", "/v/deep"],
]);
const withMounts = (...volumeMounts: VolumeMount[]): Container => ({ name: "main", volumeMounts });

describe("a path inside a container", () => {
  it.each([
    { path: "/data", place: "/v/data" },
    { path: "/data/", place: "/v/data" },
    { path: "/data/a/../b", place: "/v/data/b" },
    { path: "/data/deep/a", place: "/v/deep/a" },
    { path: "/database", place: undefined },
    { path: "/data/..", place: undefined },
    { path: "/data/../etc", place: undefined },
  ])("$path is $place on the machine", ({ path, place }) => {
    const container = withMounts({ name: "data", mountPath: "/data" }, { name: "deep", mountPath: "/data/deep" });
    expect(placeInVolume(path, container, directories)?.replace(/\/$/, "")).toBe(place);
  });

  it("is below the subPath of its mount", () => {
    const container = withMounts({ name: "data", mountPath: "/data", subPath: "one/two" });
    expect(placeInVolume("/data/x", container, directories)).toBe("/v/data/one/two/x");
  });

  it.each(["..", "a/../../b", "/etc"])("is refused when the subPath is %s", (subPath) => {
    const container = withMounts({ name: "data", mountPath: "/data", subPath });
    expect(() => placeInVolume("/data", container, directories)).toThrow("leaves volume");
  });
});
