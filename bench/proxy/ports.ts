/** Where everything listens; fixed, so that the configuration of every proxy can be read and tried by hand. */
export const ports = {
  /** nginx as a back-end: small answers and files. */
  files: 19_001,
  /** Our own back-end: uploads, chunks and WebSockets. */
  streams: 19_002,
  /** Nothing listens here until held requests are released. */
  held: 19_003,
  proxy: 19_100,
  ops: 19_101,
} as const;

export const hostsMax = 1_000;

/** The host by which the activator finds the n-th sandbox, at a port. */
export const hostOf = (port: number, n = 0): string => `${port}--s${n}--default.sandbox.localhost`;

/** The example of RFC 6455, 1.3. */
export const webSocketKey = "dGhlIHNhbXBsZSBub25jZQ==";
export const webSocketAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
