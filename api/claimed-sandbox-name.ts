import type { ObjectMeta } from "./meta.ts";
import { isDnsLabel, nameHash } from "./names.ts";

const readableMax = 54; // 63 characters of a label, less a dash and the hash

/**
 * What the Sandbox is called that is made for a claim: as the claim, where that can be a host name and a routing header.
 * Claims may have longer names, with dots; theirs is made from the name and the UID, so that it is the same after a
 * restart and another one for the next claim of that name.
 */
export function claimedSandboxName({ name = "", uid = "" }: Pick<ObjectMeta, "name" | "uid">): string {
  if (isDnsLabel(name)) return name;
  const readable = name.replaceAll(".", "-").slice(0, readableMax).replace(/-+$/, "");
  return `${readable}-${nameHash(uid)}`;
}
