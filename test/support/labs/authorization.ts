import type { Authorizer, ClusterView } from "../../../activator/authorize/authorizer.ts";
import { headerCredential } from "../../../activator/authorize/credential.ts";
import { ActivatorError } from "../../../activator/failures/errors-for-clients.ts";
import type { Routed } from "../../../activator/find/find.ts";
import type { HeaderPair, KeptBody, RequestHead } from "../../../activator/request.ts";

/** A sandbox as a request with headers names it. */
export const routed: Routed = {
  ...{ namespace: "team-a", name: "box-a", port: 1, byHost: false, podIp: undefined, timeoutMs: undefined },
  refusal: undefined,
};

export interface Asked {
  readonly headers: readonly HeaderPair[];
  readonly peer?: string;
  /** The size of the head. */
  readonly bytes?: number;
  readonly keptBody?: KeptBody;
  readonly target: Routed;
  readonly view: ClusterView;
}

/** What an authorizer says to a GET: `allowed`, or the status and the text of its error. */
export async function verdictOf(
  authorizer: Authorizer,
  { headers, peer = "", bytes, keptBody, target, view }: Asked,
): Promise<string> {
  const head: RequestHead = {
    ...{ method: "GET", protocol: "HTTP/1.1", target: "/", host: "any", headers, peer, upgrade: false },
    ...(bytes !== undefined && { bytes }),
    keptBody,
  };
  try {
    await authorizer.authenticate(head, headerCredential(head));
    return (await authorizer.authorize(head, target, view)).routed === target ? "allowed" : "another target";
  } catch (error) {
    if (!(error instanceof ActivatorError)) throw error;
    return `${error.status} ${error.detail}`;
  }
}
