import { mkdirSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Files } from "../doors/files.ts";
import { ImageStore } from "./image-store.ts";

it("the mark of the Pod goes before those of its containers, and nothing of the image is left", async () => {
  const folder = mkdtempDisposableSync(join(tmpdir(), "rouse-store-"));
  using _folder = { [Symbol.dispose]: () => folder.remove() };
  const of = join(folder.path, "shop", "web");
  mkdirSync(of, { recursive: true });
  for (const name of ["g1.a.json", "g1.json", "g1.main.json", "g1.trouble"]) writeFileSync(join(of, name), "{}");
  const removed: string[] = [];
  class Noting extends Files {
    override async remove(path: string): Promise<void> {
      removed.push(path.slice(of.length + 1));
      await super.remove(path);
    }
  }
  const store = new ImageStore(folder.path, new Noting());
  const key = { namespace: "shop", pod: "web", image: "g1" };
  expect((await store.read(key)).hasLeftovers).toBe(true);
  await store.removeMarks(key);
  expect(removed[0]).toBe("g1.json");
  expect(await store.keys()).toEqual([]);
});
