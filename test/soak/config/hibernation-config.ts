import { FlagError, flag, parseFlags } from "../../../lib/flags/flags.ts";

/** The word that selects the stage which needs a cluster. */
export const hibernationStage = "hibernation";

export interface HibernationSoakConfig {
  /** Suspensions and wakes, of all sandboxes together. */
  readonly cycles: number;
  readonly seed: number;
  readonly kills: boolean;
}

export const hibernationFlags = {
  cycles: flag.integer(1_000, "suspensions and wakes, of all sandboxes together", (cycles) =>
    cycles > 0 ? undefined : "must be above 0",
  ),
  seed: flag.integer(1, "seed of what is killed and when; timing still varies"),
  kills: flag.boolean(
    false,
    "kill node agent, controllers, activators and containerd at random moments; what is lost must be reported as lost",
  ),
};

/**
 * Reads what follows the name of the stage.
 *
 * @throws HelpRequested for `--help`.
 * @throws FlagError for any other invalid command line.
 */
export function parseHibernationConfig(args: readonly string[]): HibernationSoakConfig {
  const { values, rest } = parseFlags(hibernationFlags, args);
  if (rest.length > 0) throw new FlagError(`unexpected argument: ${rest[0]}`);
  return values;
}
