import { expect, it } from "vitest";
import { Writers } from "./writers.ts";

const writer = (promisedBytes: number, bytes: number) => ({ promisedBytes, writtenBytes: async () => bytes });

it("on a full disk the capture that is most beyond its promise ends, and the others look again", async () => {
  const writers = new Writers();
  const [large, small, beyond] = [writer(1_000, 900), writer(10, 5), writer(10, 500)];
  for (const each of [large, small]) writers.add(each);
  const added = writers.add(beyond);
  for (const spared of [large, small]) expect(await writers.whyToEnd(spared)).toBeUndefined();
  expect(await writers.whyToEnd(beyond)).toBe("Beyond");
  expect(await writers.whyToEnd(large), "while the other one ends").toBeUndefined();
  added[Symbol.dispose]();
  expect(await writers.whyToEnd(small), "if none is beyond, the largest ends").toBeUndefined();
  expect(await writers.whyToEnd(large)).toBe("Other");
});

it("on a full disk also a capture ends whose files cannot be seen, one after the other", async () => {
  const writers = new Writers();
  const unseen = () => ({ promisedBytes: 10, writtenBytes: () => Promise.reject(new Error("EMFILE")) });
  const [first, second] = [unseen(), unseen()];
  const added = writers.add(first);
  writers.add(second);
  expect(await writers.whyToEnd(second)).toBeUndefined();
  expect(await writers.whyToEnd(first)).toBe("Other");
  added[Symbol.dispose]();
  expect(await writers.whyToEnd(second)).toBe("Other");
});
