import { Cgroup } from "../../../local/kubelet/process/cgroups.ts";

/** Only a cgroup finds a process that has left the session and has another environment. This user may be unable to create one. */
export function daemonEnvironments(): readonly ("kept" | "cleared")[] {
  const made = Cgroup.make(Cgroup.placeFor("rouse-a-test"));
  made?.remove();
  return made ? ["kept", "cleared"] : ["kept"];
}
