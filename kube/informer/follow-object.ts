import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { KubeClient, ObjectName } from "../client/client.ts";
import type { Informer } from "./informer.ts";
import { startInformer } from "./start-informer.ts";

export interface FollowedObject<T extends KubeObject> {
  readonly client: KubeClient;
  readonly type: ResourceType<T>;
  readonly name: ObjectName;
  readonly clock: Clock;
  readonly log: Logger;
  /** As for `startInformer`. */
  readonly transform?: (object: Stored<T>) => Stored<T>;
}

/**
 * Watches one object by its name, whether it exists or not. Kubernetes takes the name from the field selector
 * `metadata.name` when it authorizes a list or a watch (documentation, "Using RBAC authorization", resourceNames), so a
 * role needs only `list` and `watch` on this name.
 */
export function followObject<T extends KubeObject>({ name, ...options }: FollowedObject<T>): Informer<T> {
  const { namespace } = name;
  return startInformer<T>({ ...options, namespace, fieldSelector: `metadata.name=${name.name}`, indexes: {} });
}
