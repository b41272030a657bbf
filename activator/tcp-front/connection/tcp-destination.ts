/** The sandbox of a raw connection, by its identity, and the port of it. */
export interface TcpDestination {
  readonly namespace: string;
  readonly sandboxName: string;
  readonly sandboxUid: string;
  /** The port that the sandbox listens on. */
  readonly containerPort: number;
}
