import { describe, expect, it } from "vitest";
import { namingTheDisk } from "./full-disk.ts";

const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });

describe("an error that ends local mode", () => {
  it("names the data directory and a remedy if the disk is full, also as the cause of another error", () => {
    for (const error of [full, new Error("the process runtime failed", { cause: full })]) {
      expect(String(namingTheDisk(error, "/home/ada/.rouse"))).toBe(
        "FullDisk: the disk of the data directory /home/ada/.rouse is full; free some space, or choose another directory with --data-dir",
      );
    }
    expect(String(namingTheDisk(full, undefined))).toContain("the disk for temporary files is full");
  });

  it("stays as it is otherwise", () => {
    const error = new Error("another");
    expect(namingTheDisk(error, ".rouse")).toBe(error);
  });
});
