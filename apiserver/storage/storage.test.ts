import { expect, it } from "vitest";
import { onUnexpectedError } from "../../lib/guard/guard.ts";
import { Storage } from "./storage.ts";

const aThing = { metadata: { name: "a", namespace: "default", uid: "1", creationTimestamp: "2026-01-01T00:00:00Z" } };

it("a commit stays and is reported to all listeners, though one throws", () => {
  const places: string[] = [];
  using _reports = onUnexpectedError((where) => places.push(where));
  const storage = new Storage();
  const heard: number[] = [];
  storage.onCommit(() => {
    throw new Error("a mistake");
  });
  storage.onCommit(({ version }) => heard.push(version));
  expect(storage.put("things", aThing).object.metadata.resourceVersion).toBe("2");
  expect(heard).toEqual([2]);
  expect(places).toEqual(["api-server"]);
});

it("a commit that cannot be recorded has not happened", () => {
  const storage = new Storage(undefined, () => {
    throw new Error("no space left on device");
  });
  expect(() => storage.put("things", aThing)).toThrow("no space left");
  expect(storage.list("things")).toEqual([]);
  expect(storage.version).toBe(1);
});
