/** What a phase has done, for the person who started it. */
export interface Outcome {
  /** One line for each object that was written, or would have been. */
  readonly written: readonly string[];
  /** What the person should know; the upgrade works all the same. */
  readonly notes: readonly string[];
  /** What has to be put right before the upgrade goes on. */
  readonly problems: readonly string[];
}
