import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";

// This copies thousands of files, which takes long on a busy disk.
const collectMs = 60_000;

it(
  "the image of the controller has the process that converts, all that this imports, and the licences",
  async () => {
    const target = await mkdtemp(join(tmpdir(), "collected-"));
    execFileSync(process.execPath, ["scripts/collect-program.ts", "controller/main.ts", target]);
    const file = join(target, "controller/webhook/convert-process.ts");
    expect(existsSync(file)).toBe(true);
    const body = Buffer.from("{}");
    const head = Buffer.alloc(4);
    head.writeUInt32LE(body.length);
    const { stdout, stderr } = spawnSync(process.execPath, [file], {
      input: Buffer.concat([head, body]),
    });
    expect(stderr.toString()).toBe("");
    expect(stdout.toString()).toContain("the body is not a ConversionReview");
    for (const licence of [
      "LICENSE",
      "NOTICE",
      "node_modules/ms/license.md",
      "node_modules/stream-buffers/UNLICENSE",
    ]) {
      expect(existsSync(join(target, licence)), licence).toBe(true);
    }
    await rm(target, { recursive: true });
  },
  collectMs,
);

it(
  "the image of the node agent has all that it imports, and nothing of the other programs",
  async () => {
    const target = await mkdtemp(join(tmpdir(), "collected-"));
    const [, entryPoint = "[]"] = /^ENTRYPOINT (.*)$/m.exec(readFileSync("Dockerfile.node-agent", "utf8")) ?? [];
    const [, main = ""]: readonly string[] = JSON.parse(entryPoint);
    execFileSync(process.execPath, ["scripts/collect-program.ts", main, target]);
    expect(execFileSync(process.execPath, [join(target, main), "--version"]).toString()).toMatch(/^rouse-node-agent v/);
    for (const other of ["controller", "activator", "apiserver"]) expect(existsSync(join(target, other))).toBe(false);
    await rm(target, { recursive: true });
  },
  collectMs,
);
