import { effectiveAutoSuspension } from "../api/defaults.ts";
import type { Use } from "./activity/activity.ts";
import type { BondBook } from "./activity/bond-book.ts";
import type { OpenConnection } from "./activity/open-connections.ts";
import type { StayBook, StayingConnection } from "./activity/staying-connections.ts";
import type { OpenListener } from "./carry/carry.ts";
import type { Destination } from "./reach/errand.ts";
import type { Cluster } from "./sandbox/cluster.ts";
import type { Target } from "./sandbox/look.ts";

export interface StaySurroundings {
  readonly cluster: Cluster;
  readonly bonds: BondBook;
  readonly openConnections: StayBook;
  /** Something moved on a connection to a sandbox: if it is about to sleep, it is to stay. */
  readonly onMoved: (sandbox: { readonly namespace: string; readonly name: string; readonly port: number }) => void;
}

/** Whose connection it is, and where to. */
export interface Stay {
  readonly to: Destination;
  readonly target: Target;
  readonly use: Use;
  /** Calls back once the connection is over; at once when it is already. */
  readonly onEnded: (listener: () => void) => void;
}

/** What it means that a connection stays open is the owner's choice, at every moment. */
export function stayOpen(
  connection: OpenConnection,
  { to: { namespace, name }, target: { podUid, port }, use, onEnded }: Stay,
  { cluster, bonds, openConnections, onMoved }: StaySurroundings,
): OpenListener {
  const sandbox = cluster.sandbox(namespace, name);
  const sandboxUid = sandbox?.metadata.uid ?? "";
  let meaning = effectiveAutoSuspension(sandbox?.spec ?? {}).openConnections;
  const entry: StayingConnection = {
    sandboxUid,
    podUid,
    close: () => connection.close(),
    mean(now) {
      meaning = now;
      use.opened(now);
      // Its Pod was forsworn while the sandbox, or its owner, made up its mind: it ends as soon as it has begun.
      const doomed = now !== "Count" && bonds.of(sandboxUid).forsworn.has(podUid);
      if (doomed) queueMicrotask(() => connection.close());
    },
  };
  const added = openConnections.add(entry, meaning);
  onEnded(() => added[Symbol.dispose]());
  return {
    moved() {
      if (meaning !== "Data" || !use.counts) return;
      use.moved();
      onMoved({ namespace, name, port });
    },
  };
}
