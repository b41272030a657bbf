import { FirstLists } from "../find/first-lists.ts";
import type { Domains } from "../find/host-name.ts";
import { lookupIn } from "../find/sandbox-of.ts";
import type { Claims } from "../sandbox/claims.ts";
import type { OpenGate } from "../socket/proxy-protocol/header-gate.ts";
import type { Sweep } from "../sweep.ts";
import { serveTcp, type TcpDeps } from "../tcp-front/connection/serve-tcp.ts";
import { doorByName } from "./by-name-door.ts";
import { ByNameFront, type ByNameFrontOptions } from "./by-name-front.ts";

interface Limits extends Domains, Omit<ByNameFrontOptions, "host" | "port"> {
  readonly connectTimeoutMs: number;
}

interface Parts {
  readonly claims: Claims;
  readonly sweep: Sweep;
  readonly hasRoom: () => boolean;
  readonly openGate: OpenGate | undefined;
}

/**
 * The front of connections by name. It shares everything behind it with activator ports.
 *
 * @throws Error if it cannot listen on the port.
 */
export async function openByNameFront(
  address: Pick<ByNameFrontOptions, "host" | "port">,
  config: Limits,
  deps: TcpDeps,
  { claims, sweep, hasRoom, openGate }: Parts,
): Promise<ByNameFront> {
  const { clock, cluster, log, metrics, mayLog } = deps;
  const lookup = lookupIn(cluster, claims);
  const doorParts = { cluster, clock, answerLimitMs: config.connectTimeoutMs };
  const [doorOfTls, doorOfPostgres] = [doorByName(doorParts, false), doorByName(doorParts, true)];
  const front = new ByNameFront(
    { ...config, ...address },
    {
      ...{ clock, log, mayLog, sweep, metrics, hasRoom, openGate },
      find: { cluster, clock, domains: config, lookup, lists: new FirstLists({ cluster, claims }) },
      serve: (client, to, asPostgres) => serveTcp(client, to, deps, asPostgres ? doorOfPostgres : doorOfTls),
    },
  );
  await front.listen();
  return front;
}
