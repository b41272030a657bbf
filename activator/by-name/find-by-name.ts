import type { Stored } from "../../api/kinds/meta.ts";
import { defaultPort } from "../../api/rules/declared-ports.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { ErrorCode } from "../failures/errors-for-clients.ts";
import type { Lookup } from "../find/find.ts";
import { type FirstLists, storedName } from "../find/first-lists.ts";
import { type Domains, readHost } from "../find/host-name.ts";
import { type StoredName, sandboxOf } from "../find/sandbox-of.ts";
import { untilAppears } from "../find/until-appears.ts";
import type { Leaver } from "../request.ts";
import { ChangeSignal } from "../sandbox/change-signal.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import { refusalOf } from "../sandbox/resolve.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import type { NameRefusal } from "../tcp-front/connection/refusals.ts";
import type { TcpDestination } from "../tcp-front/connection/tcp-destination.ts";
import { refusalByName } from "./open-by-name.ts";

export interface FindByNameDeps {
  readonly cluster: Pick<Cluster, "listen" | "synced">;
  readonly lists: FirstLists;
  readonly clock: Clock;
  readonly domains: Domains;
  readonly lookup: Lookup<Stored<SlimSandbox>>;
}

export type FoundByName = TcpDestination | { readonly refusal: NameRefusal | ErrorCode };

/**
 * The sandbox of a server name, and its port, by the rules of host names, if it may be reached so. One that is deleted, expired or an
 * unclaimed member is refused here, and not later: its client must not learn that it exists.
 */
function findNow(serverName: string, { domains, lookup, clock }: FindByNameDeps): FoundByName {
  const meaning = readHost(serverName, domains);
  if (meaning.is !== "sandbox" && meaning.is !== "service") return { refusal: "UnknownName" };
  const sandbox = sandboxOf(meaning, lookup);
  if (!sandbox) return { refusal: "UnknownName" };
  const { namespace } = meaning;
  const containerPort =
    (meaning.is === "sandbox" ? meaning.port : undefined) ?? defaultPort(sandbox.spec.podTemplate.spec);
  const refusal =
    refusalByName(sandbox, containerPort) ?? refusalOf({ sandbox, routed: {}, firstUid: undefined, now: clock.now() });
  if (refusal) return { refusal };
  return {
    namespace,
    sandboxName: sandbox.metadata.name,
    sandboxUid: sandbox.metadata.uid,
    containerPort,
  };
}

/**
 * As `findNow`, once it is known what the name leads to. `dueMs`: when that must be so, in monotonic milliseconds. It returns any
 * result if the client leaves.
 */
export async function findByName(
  serverName: string,
  client: Leaver,
  dueMs: number,
  deps: FindByNameDeps,
): Promise<FoundByName> {
  const name = storedName(serverName, deps.domains);
  const findIt = () => findNow(serverName, deps);
  const isThere = () => !("refusal" in findIt());
  const { lists } = deps;
  // Before the claims are known, a sandbox that is closed to the client waits as long as one that does not exist.
  const isKnown = () => lists.isKnown(name) && (lists.hasClaims || !name || isThere());
  if (!isKnown() && !(await untilKnown(name, client, deps, { isKnown, dueMs }))) return { refusal: "ClusterUnseen" };
  const first = findIt();
  if (!("refusal" in first) || !name) return first;
  // All names that lead nowhere wait so long, so that the time does not tell which of them exist.
  await untilAppears(name, client, deps, isThere);
  return findIt();
}

/** Whether it is known what the name leads to before the time is over, and before the client leaves. */
async function untilKnown(
  name: StoredName | undefined,
  client: Leaver,
  { cluster, lists, clock }: FindByNameDeps,
  { isKnown, dueMs }: { readonly isKnown: () => boolean; readonly dueMs: number },
): Promise<boolean> {
  using listening = new DisposableStack();
  let changes: Pick<ChangeSignal, "next" | "reset" | "notify"> = new ChangeSignal();
  let isOver = client.left;
  const stop = () => {
    isOver = true;
    changes.notify();
  };
  listening.use(lists.onList(() => changes.notify()));
  listening.use(clock.after(Math.max(0, dueMs - clock.ticksMs()), stop));
  client.onLeave(stop);
  // A first list changes every sandbox in one step: those that wait go on in turns.
  let known = isKnown();
  for (let isListening = false; !known && !isOver; known = isKnown()) {
    if (name && cluster.synced && !isListening) {
      changes = listening.use(cluster.listen(name.namespace, name.name));
      isListening = true;
    }
    await changes.next();
    changes.reset();
  }
  return known;
}
