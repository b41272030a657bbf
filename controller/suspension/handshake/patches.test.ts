import { describe, expect, it } from "vitest";
import { causeOf, sealOf } from "../../../api/rules/suspension.ts";
import { aSandbox, noon } from "../../../test/support/builders/builders.ts";
import { intentPatch, runningPatch, sealPatch, unsealPatch } from "./patches.ts";

const sandbox = aSandbox({}, { generation: 4, resourceVersion: "99" });
const pod = { name: "nova", uid: "pod-1", terminating: false };

describe("every write of a suspension", () => {
  it("is under the version that it was decided on", () => {
    const patches = [
      intentPatch(sandbox),
      runningPatch(sandbox),
      sealPatch(sandbox, pod, "Person", new Date(noon)),
      unsealPatch(sandbox),
    ];
    expect(patches.map(({ metadata }) => metadata.resourceVersion)).toEqual(["99", "99", "99", "99"]);
  });

  it("tells the cause in the same write as the intent, for the generation that it makes", () => {
    const { metadata, spec } = intentPatch(sandbox);
    expect(spec).toEqual({ operatingMode: "Suspended" });
    const annotations = metadata.annotations as Record<string, string>;
    expect(causeOf(aSandbox({}, { generation: 5, annotations }))).toBe("Inactivity");
  });

  it("marks one Pod for deletion, by UID, with its time", () => {
    const annotations = sealPatch(sandbox, pod, "Person", new Date(noon)).metadata.annotations as Record<
      string,
      string
    >;
    expect(sealOf(aSandbox({}, { annotations }))).toEqual({
      podName: "nova",
      podUid: "pod-1",
      cause: "Person",
      at: "2026-01-01T12:00:00.000Z",
    });
  });
});
