import { expect, it } from "vitest";
import { FlagError } from "../lib/flags/flags.ts";
import { parseClusterConfig } from "./config.ts";

it("starts the cluster by default, in the user's cache folder", () => {
  expect(parseClusterConfig([], { XDG_CACHE_HOME: "/cache" })).toEqual({
    action: "up",
    directory: "/cache/rouse/cluster",
    installPackages: false,
    gvisor: false,
  });
});

it("adds gVisor only if asked", () => {
  expect(parseClusterConfig(["up", "--gvisor"], {})).toMatchObject({ action: "up", gvisor: true });
});

it("ends the cluster of a directory that is named after the word", () => {
  expect(parseClusterConfig(["down", "--dir=/here/../there"], {})).toMatchObject({
    action: "down",
    directory: "/there",
  });
});

it("refuses a word that it does not know", () => {
  expect(() => parseClusterConfig(["dwon"], {})).toThrow(FlagError);
});
