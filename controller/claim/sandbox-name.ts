import type { Stored } from "../../api/meta.ts";
import { isDnsLabel, nameHash } from "../../api/names.ts";
import type { SandboxClaim } from "../../api/sandbox-claim.ts";

const readableMax = 54; // 63 characters of a label, less a dash and the hash

/**
 * What the Sandbox is called that is made for a claim: as the claim, where that can be a host name and a routing header.
 * Claims may have longer names, with dots; theirs is made from the name and the UID, so that it is the same after a
 * restart and another one for the next claim of that name.
 */
export function sandboxNameFor({ metadata }: Stored<SandboxClaim>): string {
  const { name, uid } = metadata;
  if (isDnsLabel(name)) return name;
  const readable = name.replaceAll(".", "-").slice(0, readableMax).replace(/-+$/, "");
  return `${readable}-${nameHash(uid)}`;
}
