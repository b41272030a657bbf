import { effectiveAutoSuspension } from "../api/defaults.ts";
import type { Use } from "./activity/activity.ts";
import type { BondBook } from "./activity/bond-book.ts";
import type { OpenConnection, OpenConnectionBook } from "./activity/open-connections.ts";
import type { OpenListener } from "./carry/carry.ts";
import type { Destination } from "./reach/reach.ts";
import type { Cluster } from "./sandbox/cluster.ts";
import type { Target } from "./sandbox/look.ts";

export interface StaySurroundings {
  readonly cluster: Cluster;
  readonly bonds: BondBook;
  readonly openConnections: OpenConnectionBook;
  /** Something moved on a connection to a sandbox: if it is about to sleep, it is to stay. */
  readonly onMoved: (sandbox: { readonly namespace: string; readonly name: string; readonly port: number }) => void;
}

/** Whose connection it is, and where to. */
export interface Stay {
  readonly to: Destination;
  readonly target: Target;
  readonly use: Use;
  readonly incoming: { readonly ended: Promise<unknown> };
}

/** What it means that a connection stays open is the owner's choice, as it is when it opens. */
export function stayOpen(
  connection: OpenConnection,
  { to: { namespace, name }, target: { podUid, port }, use, incoming }: Stay,
  { cluster, bonds, openConnections, onMoved }: StaySurroundings,
): OpenListener {
  const sandbox = cluster.sandbox(namespace, name);
  const { openConnections: meaning } = effectiveAutoSuspension(sandbox?.spec ?? {});
  use.opened(meaning);
  if (meaning === "Count") return { moved: () => {} };
  // Its Pod was forsworn while the sandbox made up its mind: it ends as soon as it has begun.
  if (sandbox && bonds.of(sandbox.metadata.uid).forsworn.has(podUid)) queueMicrotask(() => connection.close());
  const added = openConnections.add(podUid, connection);
  void incoming.ended.then(() => added[Symbol.dispose]());
  if (meaning === "Ignore" || !use.counts) return { moved: () => {} };
  return {
    moved() {
      use.moved();
      onMoved({ namespace, name, port });
    },
  };
}
