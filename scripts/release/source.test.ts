import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createRun } from "./command.ts";
import { findSource } from "./source.ts";

let repository: string;

const git = (...args: readonly string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: repository });

beforeEach(() => {
  repository = mkdtempSync(join(tmpdir(), "source-"));
  git("init", "--quiet");
  mkdirSync(join(repository, "charts/rouse"), { recursive: true });
});
afterEach(() => rmSync(repository, { recursive: true, force: true }));

function commit(version: string, chartVersion = version): void {
  const manifest = { version, dependencies: { node: "24.0.0" } };
  writeFileSync(join(repository, "package.json"), JSON.stringify(manifest));
  const chart = `version: ${chartVersion}\nappVersion: ${chartVersion}\n`;
  writeFileSync(join(repository, "charts/rouse/Chart.yaml"), chart);
  git("add", "--all");
  git("commit", "--quiet", `--message=${version}`, "--date=2026-01-01T00:00:00Z");
}

const find = (options: { tag?: string; mayLackTag?: boolean; sourceDateEpoch?: string } = {}) =>
  findSource({
    repository,
    run: createRun({ PATH: "/usr/local/bin:/usr/bin:/bin" }),
    tag: options.tag,
    mayLackTag: options.mayLackTag ?? false,
    sourceDateEpoch: options.sourceDateEpoch,
  });

it("a release is made from the tag, not from what is checked out", async () => {
  commit("1.0.0");
  git("tag", "v1.0.0");
  const tagged = git("rev-parse", "HEAD").toString().trim();
  commit("1.1.0");
  const source = await find({ tag: "v1.0.0", sourceDateEpoch: "1700000000" });
  expect(source).toEqual({
    version: "1.0.0",
    tag: "v1.0.0",
    commit: tagged,
    epochSeconds: 1_700_000_000,
    nodeVersion: "24.0.0",
  });
});

it("without SOURCE_DATE_EPOCH everything has the time of the commit", async () => {
  commit("1.0.0");
  git("tag", "v1.0.0");
  const committed = Number(git("log", "-1", "--format=%ct").toString());
  expect((await find()).epochSeconds).toBe(committed);
  await expect(find({ sourceDateEpoch: "yesterday" })).rejects.toThrow('SOURCE_DATE_EPOCH is "yesterday"');
});

it("a version without a tag is not released, and only a dry run takes the commit instead", async () => {
  commit("1.0.0");
  await expect(find()).rejects.toThrow("there is no tag v1.0.0");
  expect(await find({ mayLackTag: true })).toMatchObject({ version: "1.0.0", tag: undefined });
  await expect(find({ tag: "v2.0.0", mayLackTag: true })).rejects.toThrow("there is no tag v2.0.0");
});

it("tag, package.json and chart have one version, or nothing is made", async () => {
  commit("1.0.0");
  git("tag", "v2.0.0");
  await expect(find({ tag: "v2.0.0" })).rejects.toThrow("package.json has the version 1.0.0");
  commit("1.1.0", "1.0.0");
  await expect(find({ mayLackTag: true })).rejects.toThrow(
    "package.json has the version 1.1.0, Chart.yaml the version 1.0.0",
  );
});
