import { describe, expect, it } from "vitest";
import { ChildProgram } from "./child-program.ts";

describe("a program that ends before it has started", () => {
  it("tells whoever waits for it, with its last words", async () => {
    await using program = new ChildProgram("controller/main.ts", ["--nope"]);
    await expect(program.started).rejects.toThrow(/^controller\/main\.ts ended:\n.*--/);
    expect(program.runs).toBe(false);
  });

  it("serves nothing, and nobody waits for that", async () => {
    const heard: string[] = [];
    await using program = new ChildProgram("controller/main.ts", ["--nope"], (line) => heard.push(line));
    await expect(program.untilServes("http://127.0.0.1:1/readyz")).rejects.toThrow("controller/main.ts ended");
    await program.exited;
    expect(heard.join()).toContain("--nope");
  });
});
