import { expect, it } from "vitest";
import { sealedPodAnnotation } from "../../../api/rules/keys.ts";
import { formatSeal } from "../../../api/rules/suspension.ts";
import { aSandbox, noon } from "../../../test/support/builders/builders.ts";
import { isAwaited } from "./is-awaited.ts";

const sealed = formatSeal({ podName: "nova", podUid: "pod-1", cause: "Person", at: noon });
const asleep = { type: "Suspended", status: "True", reason: "", message: "", lastTransitionTime: noon } as const;

it.each([
  // Also if it has its Pod: another part failed, so it is not Ready.
  { what: "is to run", sandbox: aSandbox(), soon: true },
  { what: "is to sleep", sandbox: aSandbox({ operatingMode: "Suspended" }), soon: true },
  {
    what: "is asleep",
    sandbox: aSandbox(
      { operatingMode: "Suspended" },
      { generation: 3 },
      { conditions: [{ ...asleep, observedGeneration: 3 }] },
    ),
    soon: false,
  },
  {
    what: "has a sealed Pod",
    sandbox: aSandbox({}, { annotations: { [sealedPodAnnotation]: sealed } }),
    soon: true,
  },
] as const)("a failing sandbox that $what is retried soon: $soon", ({ sandbox, soon }) => {
  expect(isAwaited(sandbox)).toBe(soon);
});

it("a sandbox that is gone is not retried sooner than others", () => {
  expect(isAwaited(undefined)).toBe(false);
  expect(isAwaited(aSandbox({}, { deletionTimestamp: noon }))).toBe(false);
});
