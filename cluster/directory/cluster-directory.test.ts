import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layoutOf } from "../layout.ts";
import { isCluster, removalOrder, removeDirectory } from "./cluster-directory.ts";

describe("what `down` ends", () => {
  it("is nothing where no cluster has been, whatever other programs have on this machine", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-cluster-"));
    expect(isCluster(layoutOf(folder.path), undefined)).toBe(false);
  });

  it("is a cluster whose directory is gone, and what is left of one whose bridge is gone", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-cluster-"));
    const layout = layoutOf(folder.path);
    expect(isCluster(layout, folder.path)).toBe(true);
    writeFileSync(layout.marker, "");
    expect(isCluster(layout, undefined)).toBe(true);
  });

  it("is removed with its mark last, so that an interrupted removal goes on", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-cluster-"));
    const layout = layoutOf(join(folder.path, "cluster"));
    mkdirSync(layout.etcd, { recursive: true });
    writeFileSync(layout.marker, "");
    expect(removalOrder(["bin", "mark", "var"], "mark")).toEqual(["bin", "var", "mark"]);
    removeDirectory(layout);
    expect(existsSync(layout.directory)).toBe(false);
  });
});
