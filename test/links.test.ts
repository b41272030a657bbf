import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";
import { projectFiles } from "./support/project-files.ts";

const pages = projectFiles().filter((file) => file.endsWith(".md"));

const textOf = (page: string) => readFileSync(page, "utf8").replace(/^(```|~~~)[\s\S]*?^\1/gm, "");

/** The anchor of a heading, as GitHub generates it. */
const anchorOf = (heading: string) =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");

const anchorsOf = (page: string) =>
  [...textOf(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading));

function faultOf(page: string, target: string): string | undefined {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : normalize(join(dirname(page), path));
  if (!existsSync(file)) return `${page}: ${target} leads to no file`;
  if (anchor === undefined || !file.endsWith(".md")) return undefined;
  return anchorsOf(file).includes(anchor) ? undefined : `${page}: ${target} leads to no heading`;
}

it("every link of a document to a file or a heading of the repository has a target", () => {
  const links = pages.flatMap((page) =>
    [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .map((target) => ({ page, target })),
  );
  expect(links.length).toBeGreaterThan(100);
  expect(links.flatMap(({ page, target }) => faultOf(page, target) ?? [])).toEqual([]);
});
