import type { Stored } from "../../api/kinds/meta.ts";
import { defaultPort } from "../../api/rules/declared-ports.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { ErrorCode } from "../failures/errors-for-clients.ts";
import type { Lookup } from "../find/find.ts";
import { type Domains, readHost } from "../find/host-name.ts";
import { sandboxOf } from "../find/sandbox-of.ts";
import { untilAppears } from "../find/until-appears.ts";
import type { Leaver } from "../request.ts";
import type { Claims } from "../sandbox/claims.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import { refusalOf } from "../sandbox/resolve.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import type { NameRefusal } from "../tcp-front/connection/refusals.ts";
import type { TcpDestination } from "../tcp-front/connection/tcp-destination.ts";
import { refusalByName } from "./open-by-name.ts";

export interface FindByNameDeps {
  readonly cluster: Pick<Cluster, "listen" | "synced" | "firstSeen">;
  readonly claims: Pick<Claims, "settled" | "firstSettled">;
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
 * As `findNow`, once sandboxes and claims have been seen. `dueMs`: when that must be so, in monotonic milliseconds. It returns any
 * result if the client leaves.
 */
export async function findByName(
  serverName: string,
  client: Leaver,
  dueMs: number,
  deps: FindByNameDeps,
): Promise<FoundByName> {
  const { cluster, claims, clock, domains } = deps;
  if (!cluster.synced || !claims.settled) {
    const seen = Promise.all([cluster.firstSeen, claims.firstSettled]);
    if (!(await inTime(seen, client, dueMs - clock.ticksMs(), clock))) return { refusal: "ClusterUnseen" };
  }
  const meaning = readHost(serverName, domains);
  const first = findNow(serverName, deps);
  if (!("refusal" in first) || (meaning.is !== "sandbox" && meaning.is !== "service")) return first;
  // All names that lead nowhere wait so long, so that the time does not tell which of them exist.
  await untilAppears(meaning, client, deps, () => !("refusal" in findNow(serverName, deps)));
  return findNow(serverName, deps);
}

/** Whether it resolves within the time, and before the client leaves. */
async function inTime(event: Promise<unknown>, client: Leaver, limitMs: number, clock: Clock): Promise<boolean> {
  const over = Promise.withResolvers<false>();
  using _limit = clock.after(Math.max(0, limitMs), () => over.resolve(false));
  client.onLeave(() => over.resolve(false));
  return await Promise.race([event.then(() => true), over.promise]);
}
