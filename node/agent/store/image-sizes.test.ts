import { describe, expect, it } from "vitest";
import type { ImageKey } from "./image-key.ts";
import { type ImageSize, ImageSizes } from "./image-sizes.ts";

const keyOf = (image: string): ImageKey => ({ namespace: "shop", pod: image, image });

/** A disk with these images, which counts the looks at each. */
function openDisk(bytes: Readonly<Record<string, number>>) {
  const disk = new Map(Object.entries(bytes));
  const partial = new Set<string>();
  const looks: string[] = [];
  let listed: (() => Promise<void>) | undefined;
  const measure = async (key: ImageKey): Promise<ImageSize> => {
    looks.push(key.image);
    return { key, bytes: disk.get(key.image) ?? 0, isPartial: partial.has(key.image) };
  };
  const keys = async () => {
    const found = [...disk.keys()].map(keyOf);
    await Promise.resolve();
    await listed?.();
    return found;
  };
  const sizes = new ImageSizes({ keys, measure });
  const all = async () =>
    Object.fromEntries((await sizes.all()).map((size): [string, number] => [size.key.image, size.bytes]));
  const onList = (then: () => Promise<void>) => {
    listed = then;
  };
  return { disk, partial, looks, sizes, all, onList };
}

describe("the sizes of images", () => {
  it("are measured once, however often they are asked for", async () => {
    const { all, looks, sizes } = openDisk({ a: 1, b: 2 });
    expect(sizes.knownBytes()).toBe(0);
    for (let asked = 0; asked < 3; asked += 1) expect(await all()).toEqual({ a: 1, b: 2 });
    expect(looks).toEqual(["a", "b"]);
    expect(sizes.knownBytes()).toBe(3);
  });

  it("are measured again one by one as the agent changes them", async () => {
    const { all, disk, looks, sizes } = openDisk({ a: 1, b: 2 });
    await all();
    disk.set("c", 4).delete("a");
    for (const image of ["a", "c"]) await sizes.change(keyOf(image));
    expect(await all()).toEqual({ b: 2, c: 4 });
    expect(looks).toEqual(["a", "b", "a", "c"]);
  });

  it("are measured each time for an image that is being written", async () => {
    const { all, disk, partial, sizes } = openDisk({ a: 1 });
    await all();
    partial.add("b");
    await sizes.change(keyOf("b"));
    expect(await all()).toEqual({ a: 1, b: 0 });
    disk.set("b", 7);
    expect(await all()).toEqual({ a: 1, b: 7 });
  });

  it("that change while all are measured are right", async () => {
    const { all, disk, onList, sizes } = openDisk({ a: 1, b: 2 });
    onList(async () => {
      disk.set("c", 4).set("b", 5).delete("a");
      for (const image of ["a", "b", "c"]) await sizes.change(keyOf(image));
    });
    expect(await all()).toEqual({ b: 5, c: 4 });
  });

  it("are measured again after they were forgotten, also if that happens in the middle of a measure", async () => {
    const { all, disk, onList, sizes } = openDisk({ a: 1 });
    onList(async () => {
      if (disk.has("b")) return;
      disk.set("b", 2);
      sizes.forget();
    });
    expect(await all()).toEqual({ a: 1, b: 2 });
  });

  it("that could not be measured are measured at the next question", async () => {
    const { all, onList } = openDisk({ a: 1 });
    let fails = true;
    onList(async () => {
      if (fails) throw new Error("EMFILE: too many open files");
    });
    await expect(all()).rejects.toThrow("EMFILE");
    fails = false;
    expect(await all()).toEqual({ a: 1 });
  });
});
