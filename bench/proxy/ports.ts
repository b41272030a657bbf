/** Where everything listens; fixed, so that the configuration of every proxy can be read and tried by hand. */
export const ports = {
  /** nginx as a back-end: small answers and files. */
  files: 29_001,
  /** Our own back-end: uploads, chunks and WebSockets. */
  streams: 29_002,
  /** Nothing listens here, or nothing is answered, until held requests are released. */
  held: 29_003,
  proxy: 29_100,
  ops: 29_101,
} as const;

/** Which back-end a path is for, where the host does not say it. */
export function portOf(path: string): number {
  if (path.startsWith("/held")) return ports.held;
  return /^\/(?:up|chunked|ws)/.test(path) ? ports.streams : ports.files;
}

export const hostsMax = 1_000;

/** The host by which the activator finds the n-th sandbox, at a port. */
export const hostOf = (port: number, n = 0): string => `${port}--s${n}--default.sandbox.localhost`;

/** The example of RFC 6455, 1.3. */
export const webSocketKey = "dGhlIHNhbXBsZSBub25jZQ==";
export const webSocketAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
