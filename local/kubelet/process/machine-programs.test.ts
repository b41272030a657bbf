import { delimiter, dirname } from "node:path";
import { expect, it } from "vitest";
import { machineHasProgram } from "./machine-programs.ts";

const path = dirname(process.execPath);

it.each([
  { command: ["node"], has: true },
  { command: ["no-such-program"], has: false },
  { command: [process.execPath], has: true },
  { command: ["/no/such/program"], has: false },
  { command: [path], has: false },
  { command: [""], has: false },
  { command: ["./found-out-later"], has: true },
  { command: ["$(UNKNOWN)"], has: true },
  { command: ["$(PROGRAM)"], env: [{ name: "PROGRAM", value: "no-such-program" }], has: false },
  { command: ["$(LONG)".repeat(600)], env: [{ name: "LONG", value: "x".repeat(1_000_000) }], has: true },
  { command: [`/no/such/${"x".repeat(131_072)}`], has: true },
  { command: ["node"], env: [{ name: "PATH", value: "/no/such/place" }], has: false },
])("of command $# says $has", ({ has, ...container }) => {
  expect(machineHasProgram({ name: "main", ...container }, path)).toBe(has);
});

it.each([
  { directories: 255, has: true },
  { directories: 256, has: false },
])("a program behind $directories directories of PATH is found: $has", ({ directories, has }) => {
  const before = Array.from({ length: directories }, (_, at) => `/no/such/place${at}`);
  const value = [...before, path].join(delimiter);
  expect(machineHasProgram({ name: "main", command: ["node"], env: [{ name: "PATH", value }] }, "")).toBe(has);
});
