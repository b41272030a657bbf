import { expect, it } from "vitest";
import { sealedPodAnnotation } from "../../api/rules/keys.ts";
import { formatSeal } from "../../api/rules/suspension.ts";
import { aPodOf, aSandbox, noon } from "../../test/support/builders/builders.ts";
import { retryCeilingMs } from "./retry-ceiling.ts";

const sealed = formatSeal({ podName: "nova", podUid: "pod-1", cause: "Person", at: noon });
const asleep = { type: "Suspended", status: "True", reason: "", message: "", lastTransitionTime: noon } as const;

it.each([
  { what: "runs and has no Pod", sandbox: aSandbox(), soon: true },
  { what: "runs and has its Pod", sandbox: aSandbox(), hasPod: true, soon: false },
  { what: "is to sleep, and has its Pod", sandbox: aSandbox({ operatingMode: "Suspended" }), hasPod: true, soon: true },
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
    hasPod: true,
    soon: true,
  },
] as const)("a failing sandbox that $what is retried soon: $soon", ({ sandbox, soon, ...rest }) => {
  const pods = "hasPod" in rest ? [aPodOf(sandbox)] : [];
  expect(retryCeilingMs({ sandbox, pods }) !== undefined).toBe(soon);
});

it("a sandbox that is gone is not retried sooner than others", () => {
  expect(retryCeilingMs(undefined)).toBeUndefined();
});
