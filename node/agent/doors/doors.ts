import type { SharedPlaces } from "../../../lib/queues/shared-places.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type { ImageStore } from "../store/image-store.ts";
import type { Records } from "../store/records.ts";
import type { StoreFile } from "../store/store-file.ts";
import type { TrialWrite } from "../store/trial-write.ts";
import type { Files } from "./files.ts";
import type { Processes } from "./processes.ts";
import type { Runsc } from "./runsc.ts";
import type { Sandboxes } from "./sandboxes.ts";

/** All that the agent has of its node. */
export interface Doors {
  readonly files: Files;
  readonly processes: Processes;
  readonly runsc: Runsc;
  readonly sandboxes: Sandboxes;
  readonly store: ImageStore;
  readonly records: Records;
  readonly storeFile: StoreFile;
  readonly trial: TrialWrite;
  readonly clock: Clock;
  /** One for each capture that waits for the disk. */
  readonly diskPlaces: SharedPlaces;
}
