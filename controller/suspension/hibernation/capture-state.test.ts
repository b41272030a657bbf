import { expect, it } from "vitest";
import type { MemoryImagePhase } from "../../../api/kinds/memory-image.ts";
import { givenUpAnnotation } from "../../../api/rules/keys.ts";
import { anImage, type ImageParts } from "../../../test/support/builders/memory-images.ts";
import { captureFailure, captureOf, hasBegun } from "./capture-state.ts";
import type { MemoryRefusal } from "./memory-provider.ts";

const refusal: MemoryRefusal = {
  reason: "NoAnswer",
  message: "the node agent has not said yet whether it can keep the memory of this Pod",
};
const stage = "Capture";
const givenUp = { annotations: { [givenUpAnnotation]: "AgentSilent" } };
const of = (parts: ImageParts, why?: MemoryRefusal, waitedMs = 0) =>
  captureOf({ images: [anImage(parts)], waitedMs }, "pod-1", why);

it("a Pod is captured only from an image of its own that nothing speaks against", () => {
  expect(of({})).toMatchObject({ is: "due" });
  expect(of({}, refusal)).toEqual({ is: "none" });
  expect(of({ spec: { podUID: "pod-0" } })).toEqual({ is: "none" });
  expect(of({ metadata: givenUp })).toEqual({ is: "none" });
  expect(of({ metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } })).toEqual({ is: "none" });
  expect(captureOf(undefined, "pod-1", undefined)).toEqual({ is: "none" });
  expect(hasBegun(undefined)).toBe(false);
});

it("a capture that has begun goes on until agent or controller ends it, whatever speaks against it", () => {
  expect(of({ spec: { stage } }, refusal)).toMatchObject({ is: "underWay", leftMs: 15_000 });
  expect(of({ spec: { stage }, status: { phase: "Capturing" } }, refusal, 15_001)).toMatchObject({ leftMs: -1 });
  for (const phase of ["Failed", "Lost", "Restored"] satisfies MemoryImagePhase[]) {
    expect(of({ spec: { stage }, status: { phase } })).toEqual({ is: "over" });
  }
  expect(of({ spec: { stage }, metadata: givenUp })).toEqual({ is: "over" });
  expect([of({}), of({ spec: { stage } }), of({ spec: { stage }, metadata: givenUp })].map(hasBegun)).toEqual([
    ...[false, true, true],
  ]);
});

it("a capture that has kept memory is over, and the status may take 30 s to tell of it", () => {
  const captured: ImageParts = { spec: { stage }, status: { phase: "Captured" } };
  expect(of(captured, refusal, 1_000)).toMatchObject({
    is: "over",
    kept: { image: anImage(captured), leftMs: 29_000 },
  });
  expect(of({ ...captured, metadata: givenUp })).toEqual({ is: "over" });
});

it("a capture without memory says why, with the words of the agent", () => {
  const status = { phase: "Failed", reason: "DiskFull", message: "" } as const;
  expect(captureFailure(anImage({ status }))).toEqual({
    reason: "CaptureFailed",
    message: "the capture failed: DiskFull",
  });
  expect(captureFailure(anImage({ metadata: givenUp }))).toMatchObject({ reason: "AgentSilent" });
  const untold = { annotations: { [givenUpAnnotation]: "NotRecorded" } };
  expect(captureFailure(anImage({ metadata: untold }))).toMatchObject({ reason: "NotRecorded" });
  expect(captureFailure(anImage({ status: { phase: "Lost" } }))).toMatchObject({ reason: "ImageLost" });
  expect(captureFailure(anImage({ status: { phase: "Captured" } }))).toBeUndefined();
});
