import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "./temporary-folder.ts";
import { together } from "./together.ts";

it("steps that run together have all ended when the failure of one is reported", async () => {
  const slow = Promise.withResolvers<string>();
  const seen: string[] = [];
  const both = together([Promise.reject(new Error("no disk")), slow.promise.then((word) => seen.push(word))]);
  const reported = both.catch((error: Error) => seen.push(error.message));
  await new Promise(setImmediate);
  slow.resolve("the other step ended");
  await reported;
  expect(seen).toEqual(["the other step ended", "no disk"]);
});

it("a temporary folder is gone with its contents once it is not used any more", () => {
  let path = "";
  {
    using folder = temporaryFolder("test");
    path = folder.path;
    writeFileSync(join(path, "file"), "text");
    expect(existsSync(path)).toBe(true);
  }
  expect(existsSync(path)).toBe(false);
});
