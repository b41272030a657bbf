import type { Clock } from "../../lib/time/clock.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import type { ConnectionRefusal } from "../tcp-front/connection/refusals.ts";
import type { TcpDestination } from "../tcp-front/connection/tcp-destination.ts";
import type { TcpDoor } from "../tcp-front/connection/tcp-door.ts";
import { askForTls } from "./ask-for-tls.ts";
import { refusalByName } from "./open-by-name.ts";

export interface ByNameDoorParts {
  readonly cluster: Pick<Cluster, "sandbox">;
  readonly clock: Clock;
  /** How long a sandbox may take to answer whether it speaks TLS, in milliseconds. */
  readonly answerLimitMs: number;
}

/** The door of the by-name listener: the sandbox decides about every client. */
export function doorByName({ cluster, clock, answerLimitMs }: ByNameDoorParts, asPostgres: boolean): TcpDoor {
  const refusalNow = ({
    namespace,
    sandboxName,
    sandboxUid,
    containerPort,
  }: TcpDestination): ConnectionRefusal | undefined => {
    const sandbox = cluster.sandbox(namespace, sandboxName);
    if (sandbox?.metadata.uid !== sandboxUid) return "NoSandbox";
    return refusalByName(sandbox, containerPort);
  };
  return {
    refusalOf: async (_, to) => refusalNow(to),
    isOutsider: () => true,
    laterRefusalOf: (_, to) => refusalNow(to),
    ...(asPostgres && {
      begin: (upstream, client) => askForTls(upstream, client, { clock, limitMs: answerLimitMs }),
    }),
  };
}
