import type { ClaimShutdownPolicy, SandboxClaim } from "../../api/sandbox-claim.ts";
import type { Happening } from "../../kube/event-recorder.ts";

// What the user of a claim is told, each in one place so that no text is written twice.

export const adopted = (regarding: SandboxClaim, sandboxName: string): Happening =>
  normal(regarding, "SandboxAdopted", "Adoption", `Adopted warm pool Sandbox "${sandboxName}"`);

export const provisioned = (regarding: SandboxClaim, sandboxName: string): Happening =>
  normal(regarding, "SandboxProvisioned", "Provisioning", `Created Sandbox "${sandboxName}"`);

export const expired = (regarding: SandboxClaim): Happening =>
  normal(regarding, "ClaimExpired", "Claim Expired", "Claim expired");

export const deleting = (regarding: SandboxClaim, policy: ClaimShutdownPolicy): Happening =>
  normal(regarding, "ClaimExpired", "Deleting", `Deleting Claim (ShutdownPolicy=${policy})`);

const normal = (regarding: SandboxClaim, reason: string, action: string, note: string): Happening => ({
  regarding,
  type: "Normal",
  reason,
  action,
  note,
});
