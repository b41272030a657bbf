import type { ClaimShutdownPolicy, SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import type { NewEvent } from "../../../kube/events/event-recorder.ts";

// The events of a claim, each built in one place so that no text is written twice.

export const adopted = (regarding: SandboxClaim, sandboxName: string): NewEvent =>
  normal(regarding, "SandboxAdopted", "Adoption", `Adopted warm pool Sandbox "${sandboxName}"`);

export const provisioned = (regarding: SandboxClaim, sandboxName: string): NewEvent =>
  normal(regarding, "SandboxProvisioned", "Provisioning", `Created Sandbox "${sandboxName}"`);

export const expired = (regarding: SandboxClaim): NewEvent =>
  normal(regarding, "ClaimExpired", "Claim Expired", "Claim expired");

export const deleting = (regarding: SandboxClaim, policy: ClaimShutdownPolicy): NewEvent =>
  normal(regarding, "ClaimExpired", "Deleting", `Deleting Claim (ShutdownPolicy=${policy})`);

export const cleanupFailed = (regarding: SandboxClaim, why: string): NewEvent =>
  warning(regarding, "ClaimCleanupFailed", "Expiry", `Claim has expired, and its cleanup failed. ${why}`);

export const unreadableTime = (regarding: SandboxClaim, note: string): NewEvent =>
  warning(regarding, "UnreadableTime", "Reconciling", note);

const warning = (regarding: SandboxClaim, reason: string, action: string, note: string): NewEvent => ({
  regarding,
  type: "Warning",
  reason,
  action,
  note,
});

const normal = (regarding: SandboxClaim, reason: string, action: string, note: string): NewEvent => ({
  regarding,
  type: "Normal",
  reason,
  action,
  note,
});
