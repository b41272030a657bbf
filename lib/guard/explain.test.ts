import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { FlagError, flag, HelpRequested } from "../flags/flags.ts";
import { explain } from "./explain.ts";

const program = { name: "tested", command: "npm run tested --", flags: { port: flag.integer(7, "where") } };

function explained(error: unknown) {
  const said = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof said) =>
    new Writable({
      write(chunk, _, done) {
        said[name] += chunk;
        done();
      },
    });
  const process = { stdout: stream("stdout"), stderr: stream("stderr") } as unknown as NodeJS.Process;
  return { status: explain(error, program, process), ...said };
}

describe("the output of a program that ends with an error", () => {
  it("is the usage for --help, with status 0", () => {
    expect(explained(new HelpRequested())).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("Usage: npm run tested --"),
    });
  });

  it("is the mistake and the usage for a command line that is wrong", () => {
    const { status, stderr } = explained(new FlagError("unknown flag: --prot"));
    expect([status, stderr.split("\n", 3)]).toEqual([
      2,
      ["unknown flag: --prot", "", "Usage: npm run tested -- [flags]"],
    ]);
  });

  it("is one line with the cause, unless the message has it already", () => {
    const cause = new Error("no such file");
    expect(explained(new Error("cannot start", { cause }))).toMatchObject({
      status: 1,
      stderr: "tested: cannot start: no such file\n",
    });
    expect(explained(new Error("cannot start: no such file", { cause })).stderr).toBe(
      "tested: cannot start: no such file\n",
    );
    expect(explained("odd").stderr).toBe("tested: odd\n");
  });

  it("has the status that the error asks for", () => {
    expect(explained(Object.assign(new Error("settings"), { exitStatus: 2 })).status).toBe(2);
  });
});
