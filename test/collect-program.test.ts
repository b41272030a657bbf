import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

// This copies thousands of files, which takes long on a busy disk.
const collectMs = 60_000;

describe("the image of the controller", () => {
  let target: string;
  beforeAll(async () => {
    target = await mkdtemp(join(tmpdir(), "collected-"));
    execFileSync(process.execPath, ["scripts/collect-program.ts", "controller/main.ts", target]);
  }, collectMs);
  afterAll(() => rm(target, { recursive: true }));

  it("has the process that converts, all that this imports, and the licences", () => {
    const file = join(target, "controller/webhook/convert-process.js");
    expect(existsSync(file)).toBe(true);
    const body = Buffer.from("{}");
    const head = Buffer.alloc(4);
    head.writeUInt32LE(body.length);
    const { stdout, stderr } = spawnSync(process.execPath, [file], { input: Buffer.concat([head, body]) });
    expect(stderr.toString()).toBe("");
    expect(stdout.toString()).toContain("the body is not a ConversionReview");
    const licences = ["LICENSE", "NOTICE", "node_modules/ms/license.md", "node_modules/stream-buffers/UNLICENSE"];
    for (const licence of licences) expect(existsSync(join(target, licence)), licence).toBe(true);
  });

  it("has our sources as JavaScript with the same lines, which names no file with types", () => {
    const ours = globSync("{lib,api,kube,controller}/**/*.[jt]s", { cwd: target });
    expect(ours.length).toBeGreaterThan(100);
    for (const file of ours) {
      expect(file).toMatch(/\.js$/);
      const text = readFileSync(join(target, file), "utf8");
      expect(text, file).not.toMatch(/"\.{1,2}\/[^"]*\.ts"/);
      const source = readFileSync(file.replace(/\.js$/, ".ts"), "utf8");
      expect(text.split("\n").length, file).toBe(source.split("\n").length);
    }
    const program = join(target, "controller/main.js");
    expect(execFileSync(process.execPath, [program, "--version"]).toString()).toMatch(/^agent-sandbox-controller v/);
  });
});

it(
  "the image of the node agent has all that it imports, and nothing of the other programs",
  async () => {
    const target = await mkdtemp(join(tmpdir(), "collected-"));
    const [, entryPoint = "[]"] = /^ENTRYPOINT (.*)$/m.exec(readFileSync("Dockerfile.node-agent", "utf8")) ?? [];
    const [, main = ""]: readonly string[] = JSON.parse(entryPoint);
    execFileSync(process.execPath, ["scripts/collect-program.ts", main.replace(/\.js$/, ".ts"), target]);
    expect(execFileSync(process.execPath, [join(target, main), "--version"]).toString()).toMatch(/^rouse-node-agent v/);
    for (const other of ["controller", "activator", "apiserver"]) expect(existsSync(join(target, other))).toBe(false);
    await rm(target, { recursive: true });
  },
  collectMs,
);
