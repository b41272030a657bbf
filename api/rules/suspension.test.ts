import { describe, expect, it } from "vitest";
import { aSandbox, noon } from "../../test/support/builders/builders.ts";
import type { OperatingMode } from "../kinds/sandbox.ts";
import { sealedPodAnnotation, suspensionCauseAnnotation } from "./keys.ts";
import {
  causeOf,
  formatSeal,
  inactivityAt,
  isResumedFromInactivity,
  mayAskToRun,
  mayForward,
  type Seal,
  sealOf,
  sleepsByInactivity,
} from "./suspension.ts";

const seal: Seal = { podName: "nova", podUid: "pod-1", cause: "Person", at: noon };
const free = { reportedGeneration: 0, fenced: new Set<string>() };

interface Written {
  readonly mode?: OperatingMode;
  readonly generation?: number;
  readonly cause?: string;
  readonly seal?: string;
  readonly suspendedSince?: number;
}

function sandbox({ mode = "Suspended", generation = 7, cause, seal, suspendedSince }: Written) {
  const annotations = {
    ...(cause && { [suspensionCauseAnnotation]: cause }),
    ...(seal && { [sealedPodAnnotation]: seal }),
  };
  const condition = {
    type: "Suspended",
    status: "True",
    reason: "PodTerminated",
    message: "",
    lastTransitionTime: noon,
    observedGeneration: suspendedSince ?? 0,
  } as const;
  const conditions = suspendedSince === undefined ? [] : [condition];
  return aSandbox({ operatingMode: mode }, { generation, annotations }, { conditions });
}

describe("the cause of a suspension", () => {
  it.each([
    { says: undefined, generation: 7, cause: "Person" },
    { says: inactivityAt(7), generation: 7, cause: "Inactivity" },
    { says: inactivityAt(7), generation: 8, cause: "Inactivity" }, // one write: an edit
    { says: inactivityAt(7), generation: 9, cause: "Person" }, // two writes: resumed, and suspended again
    { says: inactivityAt(8), generation: 7, cause: "Person" },
    { says: "Inactivity", generation: 7, cause: "Person" },
  ])("is $cause in generation $generation when the annotation says $says", ({ says, generation, cause }) => {
    expect(causeOf(sandbox({ generation, ...(says && { cause: says }) }))).toBe(cause);
  });
});

describe("a sandbox that is suspended", () => {
  const believed = { says: inactivityAt(5), suspendedSince: 5 };

  it.each([
    { what: "its status speaks of the sleep that the annotation names", written: believed, is: true },
    { what: "its status speaks of an edit after that", written: { ...believed, suspendedSince: 6 }, is: true },
    { what: "its status speaks of a later suspension", written: { ...believed, suspendedSince: 7 }, is: false },
    { what: "its status does not say that it sleeps", written: { says: inactivityAt(5) }, is: false },
    { what: "it was edited once, and has a Pod", written: { says: inactivityAt(8) }, is: true },
    { what: "a person has suspended it", written: { suspendedSince: 5 }, is: false },
    { what: "it is to run", written: { ...believed, mode: "Running" }, is: false },
  ] as const)("sleeps by inactivity in generation 9: $is, when $what", ({ written, is }) => {
    const { says, ...rest }: Written & { readonly says?: string } = written;
    expect(sleepsByInactivity(sandbox({ ...rest, generation: 9, ...(says && { cause: says }) }))).toBe(is);
  });
});

describe("a sandbox that runs", () => {
  it.each([
    { says: inactivityAt(6), mode: "Running", is: true },
    { says: inactivityAt(5), mode: "Running", is: true },
    { says: inactivityAt(4), mode: "Running", is: false },
    { says: inactivityAt(7), mode: "Running", is: false },
    { says: "", mode: "Running", is: false },
    { says: inactivityAt(6), mode: "Suspended", is: false },
  ] as const)(
    "has slept by itself before generation 7: $is, when the annotation says $says and it is $mode",
    (written) => {
      const { says, mode, is } = written;
      expect(isResumedFromInactivity(sandbox({ mode, generation: 7, ...(says && { cause: says }) }))).toBe(is);
    },
  );
});

describe("a seal", () => {
  it("is read as it was written", () => {
    expect(sealOf(sandbox({ seal: formatSeal(seal) }))).toEqual(seal);
  });

  it.each(["", "{", "null", "[]", '"pod-1"', formatSeal({ ...seal, podUid: "" }), formatSeal({ ...seal, at: "soon" })])(
    "with the text %s marks no Pod for deletion",
    (written) => {
      expect(sealOf(sandbox({ seal: written }))).toBeUndefined();
    },
  );
});

describe("a seal whose text is too long", () => {
  it.each([
    { what: "a UID of 129 characters", written: formatSeal({ ...seal, podUid: "x".repeat(129) }) },
    { what: "a text of more than 1,024 characters", written: formatSeal(seal) + " ".repeat(1_024) },
  ])("seals no Pod: $what", ({ written }) => {
    expect(sealOf(sandbox({ seal: written }))).toBeUndefined();
  });

  it("is longer than one with the longest valid Pod name and UID", () => {
    const longest: Seal = { ...seal, podName: "a".repeat(253), podUid: "x".repeat(128), cause: "Inactivity" };
    expect(sealOf(sandbox({ seal: formatSeal(longest) }))).toEqual(longest);
  });
});

describe("a connection may resume a sandbox", () => {
  it.each([
    { what: "a suspension by inactivity", written: { cause: inactivityAt(7) }, may: true },
    {
      what: "a suspension by inactivity whose Pod is sealed",
      written: { cause: inactivityAt(7), seal: formatSeal(seal) },
      may: true,
    },
    { what: "a manual suspension that is not complete", written: {}, may: false },
    { what: "a manual suspension whose Pod is sealed", written: { seal: formatSeal(seal) }, may: false },
    { what: "a manual suspension that is complete", written: { suspendedSince: 7 }, may: true },
    { what: "a manual suspension after one that was complete", written: { suspendedSince: 5 }, may: false },
    { what: "no suspension", written: { mode: "Running", cause: inactivityAt(7) }, may: false },
  ] as const)("$may for $what", ({ written, may }) => {
    expect(mayAskToRun(sandbox(written))).toBe(may);
  });
});

describe("an activator may forward", () => {
  it.each([
    { what: "to a running sandbox", written: {}, fences: free, may: true },
    { what: "while it is suspended", written: { mode: "Suspended" }, fences: free, may: false },
    { what: "to a sealed Pod", written: { seal: formatSeal(seal) }, fences: free, may: false },
    {
      what: "past the seal of another",
      written: { seal: formatSeal({ ...seal, podUid: "pod-0" }) },
      fences: free,
      may: true,
    },
    {
      what: "before it sees the suspension that was reported to it",
      written: {},
      fences: { ...free, reportedGeneration: 8 },
      may: false,
    },
    { what: "once it sees more", written: { generation: 9 }, fences: { ...free, reportedGeneration: 8 }, may: true },
    { what: "after its promise", written: {}, fences: { ...free, fenced: new Set(["pod-1"]) }, may: false },
  ] as const)("$may: $what", ({ written, fences, may }) => {
    expect(mayForward(sandbox({ mode: "Running", ...written }), "pod-1", fences)).toBe(may);
  });
});
