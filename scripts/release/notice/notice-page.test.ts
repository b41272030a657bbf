import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { noticePage } from "./notice-page.ts";

const page = readFileSync("NOTICE", "utf8");
const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));

it("NOTICE is what the packages of the images say: else run npm run generate:notice", () => {
  expect(page).toBe(noticePage("."));
});

it("NOTICE names each npm package with the version and the licence of the lock file", () => {
  const locked = new Set<string>();
  for (const [folder, { version, license }] of Object.entries<Record<string, string>>(packages)) {
    locked.add(`${folder.slice(folder.lastIndexOf("node_modules/") + 13)} ${version} (${license})`);
  }
  const listed = page.slice(page.indexOf("npm packages\n")).match(/^[^ \n]+ \d+\.\d+\.\S+ \(.+\)$/gm) ?? [];
  expect(listed.length).toBeGreaterThan(100);
  expect(listed.filter((line) => !locked.has(line))).toEqual([]);
});
