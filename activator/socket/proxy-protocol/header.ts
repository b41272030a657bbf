import { type HeaderStep, incomplete, refusedAs } from "./header-step.ts";
import { readVersion1, startOfVersion1 } from "./version1.ts";
import { readVersion2, startOfVersion2 } from "./version2.ts";

// The PROXY protocol of HAProxy (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt).

/** Reads the header at the beginning of a connection. `bytes`: all that has arrived. An incomplete header has fewer than 4,112 bytes. */
export function readProxyHeader(bytes: Buffer): HeaderStep {
  if (beginsLike(bytes, startOfVersion2))
    return bytes.length < startOfVersion2.length ? incomplete : readVersion2(bytes);
  if (!beginsLike(bytes, startOfVersion1)) return refusedAs("Missing");
  return bytes.length < startOfVersion1.length ? incomplete : readVersion1(bytes);
}

/** Whether the bytes are the start, or a beginning of it. */
function beginsLike(bytes: Buffer, start: Buffer): boolean {
  const compared = Math.min(bytes.length, start.length);
  return bytes.compare(start, 0, compared, 0, compared) === 0;
}
