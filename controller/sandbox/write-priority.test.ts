import { expect, it } from "vitest";
import type { Condition } from "../../api/kinds/meta.ts";
import { aPodOf, aSandbox, controlledBy, readyStatus } from "../../test/support/builders/builders.ts";
import { aPool } from "../../test/support/builders/extension-builders.ts";
import { anObservation } from "../../test/support/builders/observed.ts";
import { isLowPriority } from "./write-priority.ts";

const isReady: Condition = {
  type: "Ready",
  status: "True",
  reason: "DependenciesReady",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};
const fresh = aSandbox();
const ready = aSandbox({}, {}, { conditions: [isReady] });
const toSleep = aSandbox({ operatingMode: "Suspended" }, {}, { conditions: [isReady] });
const spare = aSandbox({}, { ownerReferences: [controlledBy(aPool())] });
const running = aPodOf(ready, {}, readyStatus);
const going = aPodOf(ready, { deletionTimestamp: "2026-01-01T00:00:00Z" }, readyStatus);

it.each([
  ["a spare that has nothing yet", { sandbox: spare }, true],
  ["one that runs, and says so", { sandbox: ready, pods: [running] }, true],
  ["one that has nothing yet", { sandbox: fresh }, false],
  ["one whose Pod runs, and that does not say so yet", { sandbox: fresh, pods: [running] }, false],
  ["one whose Pod is going", { sandbox: ready, pods: [going] }, false],
  ["one whose Pod is gone", { sandbox: ready }, false],
  ["one that is put to sleep", { sandbox: toSleep, pods: [running] }, false],
])("whether no client waits for a reconcile, of %s", (_, seen, expected) => {
  expect(isLowPriority(anObservation(seen))).toBe(expected);
});
