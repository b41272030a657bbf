/** All listening ports. They are fixed, so that the configuration of each proxy can be tried by hand. */
export const ports = {
  /** nginx as a back-end: small answers and files. */
  files: 29_001,
  /** Our own back-end: uploads, chunks and WebSockets. */
  streams: 29_002,
  /** Until held requests are released, this port is closed, or its server does not answer. */
  held: 29_003,
  /** Our own back-end for calls of gRPC. */
  calls: 29_004,
  proxy: 29_100,
  ops: 29_101,
  /** nginx and haproxy speak HTTP/2 in clear text at a port of its own. */
  proxyHttp2: 29_102,
  /** HTTP/2 over TLS. */
  proxyTls: 29_103,
} as const;

/** The port of the back-end for a path, if the host does not name it. */
export function portOf(path: string): number {
  if (path.startsWith("/held")) return ports.held;
  return /^\/(?:up|chunked|ws)/.test(path) ? ports.streams : ports.files;
}

export const hostsMax = 1_000;

/** The host name of the n-th sandbox, with a port. */
export const hostOf = (port: number, n = 0): string => `${port}--s${n}--default.sandbox.localhost`;

/** The example of RFC 6455, 1.3. */
export const webSocketKey = "dGhlIHNhbXBsZSBub25jZQ==";
export const webSocketAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

export const callPaths = { unary: "/bench.Calls/Unary", stream: "/bench.Calls/Stream" } as const;

/** A message of gRPC that is not compressed. */
export function messageOf(bytes: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes, 1);
  return Buffer.concat([head, Buffer.alloc(bytes, "m")]);
}
