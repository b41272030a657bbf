import type { ObjectMeta } from "../kinds/meta.ts";
import { isDnsLabel, nameHash } from "./names.ts";

const readableMax = 54; // 63 characters of a label, minus a dash and the hash

/**
 * The name of the Sandbox that is created for a claim: the claim's name, if it is valid as a host name and a routing
 * header. Claims may have longer names, with dots. Then the name is derived from the claim's name and UID: it is the
 * same after a restart, and different for the next claim of that name.
 */
export function claimedSandboxName({ name = "", uid = "" }: Pick<ObjectMeta, "name" | "uid">): string {
  if (isDnsLabel(name)) return name;
  const readable = name.replaceAll(".", "-").slice(0, readableMax).replace(/-+$/, "");
  return `${readable}-${nameHash(uid)}`;
}
