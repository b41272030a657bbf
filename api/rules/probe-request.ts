import type { HttpGetAction } from "../kinds/pod.ts";

/**
 * The largest request of a probe that our programs send themselves. They count probes and not bytes, so no probe may cost much
 * more than another.
 */
export const probeHeadersMax = 32;
export const probeCharactersMax = 4_096;

/** Whether a probe's path and headers are small enough for our programs to send. Reads no more headers than that. */
export function isSmallRequest({ path = "", httpHeaders = [] }: Pick<HttpGetAction, "path" | "httpHeaders">): boolean {
  if (httpHeaders.length > probeHeadersMax) return false;
  const characters = httpHeaders.reduce((sum, { name, value }) => sum + name.length + value.length, path.length);
  return characters <= probeCharactersMax;
}
