import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nodeFlagsOf } from "./node-flags.ts";

const read = (file: string) => readFileSync(join(import.meta.dirname, "..", "..", file), "utf8");

it.each(["controller", "activator"])("are the same for the %s in its image and with npm run", (program) => {
  const command = (main: string) => ["node", ...nodeFlagsOf(`${program}/${main}`), `${program}/${main}`];
  const [, entryPoint = "[]"] = /^ENTRYPOINT (.*)$/m.exec(read(`Dockerfile.${program}`)) ?? [];
  expect(JSON.parse(entryPoint)).toEqual(command("main.js"));
  expect(JSON.parse(read("package.json")).scripts[program]).toBe(
    ["exec scripts/run", ...command("main.ts").slice(1)].join(" "),
  );
});

it("is the child of npm itself: else the shell between them may keep a signal", () => {
  const scripts: Readonly<Record<string, string>> = JSON.parse(read("package.json")).scripts;
  const programs = Object.entries(scripts).filter(
    ([, line]) => /scripts\/run .*\.ts\b/.test(line) && !line.includes("vitest"),
  );
  expect(programs.map(([name]) => name)).toEqual(
    expect.arrayContaining(["start", "controller", "activator", "cluster"]),
  );
  for (const [name, line] of programs) expect(line, name).toMatch(/^exec scripts\/run /);
});
