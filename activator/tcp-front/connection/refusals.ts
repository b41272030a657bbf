/** Why a connection to an activator port was rejected before its sandbox was asked, in the words of metrics and logs. */
export const peerRefusals = [
  "Loopback",
  "NoPod",
  "OtherNamespace",
  "NoSandbox",
  "TooManyConnections",
  "NoDescriptors",
] as const;
export type PeerRefusal = (typeof peerRefusals)[number];

/** Why a connection by name was rejected, in the same words. */
export const nameRefusals = [
  "NotTls",
  "WithoutTls",
  "EarlyBytes",
  "CancelWithoutName",
  "MalformedHello",
  "HelloTooLong",
  "NoName",
  "UnknownName",
  "NotAllowedByName",
  "PortNotDeclared",
  "NameTimedOut",
  "TooManyUnnamed",
  "SandboxWithoutTls",
  "SandboxTlsUnanswered",
] as const;
export type NameRefusal = (typeof nameRefusals)[number];

/** Why a connection was rejected, other than by an error of a sandbox or Pod. */
export type ConnectionRefusal = PeerRefusal | NameRefusal;

/** A connection is rejected for a reason that is no error of a sandbox or Pod. */
export class ConnectionRefused extends Error {
  override readonly name = "ConnectionRefused";
  readonly reason: ConnectionRefusal;

  constructor(reason: ConnectionRefusal) {
    super(`the connection is rejected: ${reason}`);
    this.reason = reason;
  }
}
