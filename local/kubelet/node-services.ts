import type { PersistentVolumeClaim, Service } from "../../api/core.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Store } from "../../kube/informer.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import type { Environment } from "./container-environment.ts";
import type { ContainerLog } from "./container-log.ts";
import type { Directories } from "./directories.ts";
import type { EveryAddressWatch } from "./every-address-watch.ts";
import type { PodAddresses } from "./pod-address.ts";
import type { ProcessRecords } from "./process-records.ts";
import type { Volumes } from "./volumes.ts";

/** What all Pods of this node share. */
export interface NodeServices {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: EventRecorder;
  readonly claims: Store<PersistentVolumeClaim>;
  /** Services, which containers are told of. */
  readonly links: Store<Service, "namespace">;
  readonly directories: Directories;
  readonly records: ProcessRecords;
  readonly watch: EveryAddressWatch;
  readonly addresses: PodAddresses;
  readonly volumes: Volumes;
  /** Logs that something writes to, by their paths. */
  readonly liveLogs: Map<string, ContainerLog>;
  readonly nodeName: string;
  readonly hostIp: string;
  /** The part of our own environment that containers see. */
  readonly inherited: Environment;
}
