import { sealedPodAnnotation, suspensionCauseAnnotation } from "../../api/rules/keys.ts";
import type { GateCall } from "./api-gate.ts";

/** A step of a suspension for inactivity, identified by the controller's call. */
export interface Phase {
  readonly about: string;
  readonly stage: "asked" | "answered";
  /** Whether this is the call of the step. `before`: the earlier calls of the same controller. */
  readonly is: (call: GateCall, sandbox: string, before: readonly GateCall[]) => boolean;
}

const isOf = ({ path }: GateCall, sandbox: string) => path.split("?")[0]?.endsWith(`/sandboxes/${sandbox}`) ?? false;
const isIntent = (call: GateCall, sandbox: string) =>
  call.method === "PATCH" && isOf(call, sandbox) && call.body.includes(`${suspensionCauseAnnotation}":"Inactivity`);
const isSeal = (call: GateCall, sandbox: string) =>
  call.method === "PATCH" && isOf(call, sandbox) && call.body.includes(`${sealedPodAnnotation}":"`);
const isUnseal = (call: GateCall, sandbox: string) =>
  call.method === "PATCH" && isOf(call, sandbox) && call.body.includes(`${sealedPodAnnotation}":null`);
const isDelete = ({ method, path }: GateCall, sandbox: string) =>
  method === "DELETE" && (path.split("?")[0]?.endsWith(`/pods/${sandbox}`) ?? false);
const isStatus = (call: GateCall, sandbox: string) =>
  call.path.includes(`/sandboxes/${sandbox}/status`) && call.body.includes('"PodTerminated"');
const isListOfActivators = ({ method, path }: GateCall) =>
  method === "GET" && path.includes("/namespaces/agent-sandbox-system/pods?") && !path.includes("watch=");
const follows = (one: typeof isIntent) => (call: GateCall, sandbox: string, before: readonly GateCall[]) =>
  isListOfActivators(call) && before.some((earlier) => one(earlier, sandbox));

export const sealWritten: Phase = { about: "with the seal written", stage: "answered", is: isSeal };

/** Every step after which a suspension is incomplete. */
export const phases: readonly Phase[] = [
  { about: "with the intent on its way", stage: "asked", is: isIntent },
  { about: "with the intent written", stage: "answered", is: isIntent },
  { about: "before the activators are asked", stage: "asked", is: follows(isIntent) },
  { about: "while the activators are asked", stage: "answered", is: follows(isIntent) },
  { about: "with the seal on its way", stage: "asked", is: isSeal },
  sealWritten,
  { about: "before the activators promise", stage: "asked", is: follows(isSeal) },
  { about: "while the activators promise", stage: "answered", is: follows(isSeal) },
  { about: "with the delete on its way", stage: "asked", is: isDelete },
  { about: "with the Pod deleted", stage: "answered", is: isDelete },
  { about: "with the removal of the seal on its way", stage: "asked", is: isUnseal },
  { about: "with the seal removed", stage: "answered", is: isUnseal },
  { about: "with the status on its way", stage: "asked", is: isStatus },
];
