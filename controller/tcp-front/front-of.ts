import { type EndpointSlice, type TcpFront, tcpFrontOf } from "../../api/tcp-front.ts";

/** A slice is looked at many times in each of its states, and is not changed in between. */
const known = new WeakMap<EndpointSlice, TcpFront | false>();

/** What a slice says; undefined for one that cannot be read. */
export function frontOf(slice: EndpointSlice): TcpFront | undefined {
  const front = known.get(slice) ?? tcpFrontOf(slice) ?? false;
  known.set(slice, front);
  return front || undefined;
}
