import type { Service } from "../../../api/kinds/core.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { EventRecorder } from "../../../kube/events/event-recorder.ts";
import type { Store } from "../../../kube/informer/informer.ts";
import type { Logger } from "../../../lib/log/log.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { Removals } from "../../disk/removals.ts";
import type { ContainerLog } from "../container/container-log.ts";
import type { Environment } from "../environment/container-environment.ts";
import type { LaunchMemory } from "../environment/launch-memory.ts";
import type { PodAddresses } from "../pod/pod-address.ts";
import type { EveryAddressWatch } from "../process/every-address-watch.ts";
import type { ProcessRecords } from "../process/process-records.ts";
import type { Directories } from "../volumes/directories.ts";
import type { Volumes } from "../volumes/volumes.ts";

/** Services that all Pods of this node share. */
export interface NodeServices {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: EventRecorder;
  /** Services, for the variables of containers. */
  readonly links: Store<Service, "namespace">;
  readonly directories: Directories;
  readonly records: ProcessRecords;
  readonly launchMemory: LaunchMemory;
  readonly watch: EveryAddressWatch;
  readonly addresses: PodAddresses;
  readonly volumes: Volumes;
  readonly removals: Removals;
  /** Open logs, by their paths. */
  readonly liveLogs: Map<string, ContainerLog>;
  readonly nodeName: string;
  readonly hostIp: string;
  /** How many Pods that have not ended the node takes. */
  readonly podsMax: number;
  /** The part of our own environment that containers get. */
  readonly inherited: Environment;
}
