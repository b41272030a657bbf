import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { findPod } from "../../sandbox/find-pod.ts";
import type { Observed } from "../../sandbox/observed.ts";
import type { OwnPod } from "./decide-suspension.ts";

/** A Pod as the handshake sees it. */
export const asOwnPod = ({ metadata }: Stored<Pod>): OwnPod => ({
  name: metadata.name,
  uid: metadata.uid,
  terminating: metadata.deletionTimestamp !== undefined,
});

/** The Pod that the sandbox controls, in the state that was observed. */
export function ownPodOf(seen: Pick<Observed, "sandbox" | "pods">): OwnPod | undefined {
  const found = findPod(seen);
  return found.found === "owned" ? asOwnPod(found.pod) : undefined;
}
