import type { PersistentVolumeClaim, Service } from "../../../api/kinds/core.ts";
import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { OwnWrites } from "../../own-writes.ts";
import type { Creations } from "../../stores/creations.ts";
import type { Permit } from "../../suspension/hibernation/permit.ts";

export interface SandboxWriters {
  readonly client: KubeClient;
  readonly creations: Creations;
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly pods: OwnWrites<Pod, "trackedOwner">;
  readonly services: OwnWrites<Service>;
  readonly claims: OwnWrites<PersistentVolumeClaim>;
  /** Absent: nothing captures memory here, and no action names an image. */
  readonly images?: OwnWrites<MemoryImage, "sandboxUid"> | undefined;
  /** Signs what permits a Pod to be restored; undefined without a key. Absent: there are no images. */
  readonly signPermit?: ((permit: Permit) => string | undefined) | undefined;
}
