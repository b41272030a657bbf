/** The result of a phase, for the operator. */
export interface Outcome {
  /** One line for each object that was written, or would have been in a dry run. */
  readonly written: readonly string[];
  /** Information for the operator; the upgrade can go on. */
  readonly notes: readonly string[];
  /** The state of the whole cluster, which the phase has read, if there are no problems. */
  readonly reached?: string;
  /** Faults that the operator must fix before the upgrade can go on. */
  readonly problems: readonly string[];
}
