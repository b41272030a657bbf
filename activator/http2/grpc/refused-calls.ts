import { statusMax, uncarried } from "../front/status-max.ts";

/** With these Node ends the stream after the head. So data and trailers behind it would be lost. */
const statusesWithoutContent: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Why a response to a call cannot be forwarded; undefined if it can. `isWhole`: it has neither data nor trailers. A client of gRPC-Web
 * gets the same answer as one of gRPC.
 */
export function refusalOfCall(status: number, isWhole: boolean): string | undefined {
  const isFinal = status >= 200 && status <= statusMax;
  if (!isFinal) return uncarried(status);
  if (isWhole || !statusesWithoutContent.has(status)) return undefined;
  return `the sandbox answered with the status ${status}, behind which HTTP/2 carries no data and no trailers`;
}
