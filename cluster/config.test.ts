import { expect, it } from "vitest";
import { FlagError } from "../lib/flags.ts";
import { parseClusterConfig } from "./config.ts";

it("brings the cluster up unless told otherwise, in the user's cache folder", () => {
  expect(parseClusterConfig([], { XDG_CACHE_HOME: "/cache" })).toEqual({
    action: "up",
    directory: "/cache/rouse/cluster",
    installPackages: false,
  });
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
