import { code, page, table } from "./markdown.ts";
import { claimReadyReasons, eventReasons, lossMeanings, memoryReasons, sandboxConditionReasons } from "./reasons.ts";

export function reasonsPage(): string {
  const conditions = Object.entries(sandboxConditionReasons).flatMap(([type, reasons]) =>
    Object.entries(reasons).map(([reason, meaning]) => [code(type), code(reason), meaning]),
  );
  return page("Reasons of events and conditions", [
    "In the texts of this page, *it* is the object that has the event or the condition.",
    "## Events",
    table(
      ["Reason", "On", "Meaning"],
      Object.entries(eventReasons).map(([reason, { on, means }]) => [code(reason), on, means]),
    ),
    "## Conditions of a Sandbox",
    table(["Type", "Reason", "Meaning"], conditions),
    "## Why the memory of a Sandbox is not kept",
    "In `status.hibernation` and as a label of `rouse_hibernation_refusals_total`. If several apply, the first of them in this table is the reason, and the message has all.",
    table(
      ["Reason", "Meaning"],
      Object.entries(memoryReasons).map(([reason, meaning]) => [code(reason), meaning]),
    ),
    "## Why memory that was kept is not restored",
    "In `status.hibernation.lastWake`, in the event `MemoryLost`, and as a label of `rouse_hibernation_wakes_total`.",
    table(
      ["Reason", "Meaning"],
      Object.entries(lossMeanings).map(([reason, meaning]) => [code(reason), meaning]),
    ),
    "## Condition Ready of a SandboxClaim",
    "It also passes on the reasons of its Sandbox. With `SandboxSuspended` it is True if the sandbox is suspended for inactivity and a connection wakes it.",
    table(
      ["Reason", "Meaning"],
      Object.entries(claimReadyReasons).map(([reason, meaning]) => [code(reason), meaning]),
    ),
  ]);
}
