import { describe, expect, it } from "vitest";
import { ChildProgram } from "./child-program.ts";

describe("a program that exits before it has started", () => {
  it("rejects the waits for its start, with its last lines", async () => {
    await using program = new ChildProgram("controller/main.ts", ["--nope"]);
    await expect(program.started).rejects.toThrow(/^controller\/main\.ts ended:\n.*--/);
    expect(program.runs).toBe(false);
  });

  it("rejects the wait for a page", async () => {
    const heard: string[] = [];
    await using program = new ChildProgram("controller/main.ts", ["--nope"], (line) => heard.push(line));
    await expect(program.untilServes("http://127.0.0.1:1/readyz")).rejects.toThrow("controller/main.ts ended");
    await program.exited;
    expect(heard.join()).toContain("--nope");
  });
});
