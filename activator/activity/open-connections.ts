/** A connection to a sandbox that may stay open for long and that the activator can close. */
export interface OpenConnection {
  /** Closes it as its protocol requires, because its sandbox is suspended. */
  close(): void;
}
