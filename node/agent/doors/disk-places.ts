import { SharedPlaces } from "../../../lib/queues/shared-places.ts";

/** Node does all work with files on a few threads, and these are as many as it has if nothing else is said. */
export const usualThreads = 4;
/** Threads that no capture holds for long: for the looks at other Pods, the ends of captures, and the node store itself. */
const spareThreads = 16;
/** A capture writes its files to the disk and reads them at the same time. */
const threadsOfCapture = 2;

/**
 * The places of captures that wait for the disk, which namespaces share. A thread waits as long as the disk does: captures on all threads would
 * stop the agent.
 */
export function diskPlaces(threads: number): SharedPlaces {
  const spare = Math.min(spareThreads, Math.floor(threads / 2));
  const places = Math.max(1, Math.floor((threads - spare) / threadsOfCapture));
  return new SharedPlaces(places, Math.floor(places / 4));
}
