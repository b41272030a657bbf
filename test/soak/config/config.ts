import { FlagError, flag, parseFlags } from "../../../lib/flags/flags.ts";

export const stages = ["sweep", "traffic", "faults", "stuck", "model"] as const;
export type Stage = (typeof stages)[number];

export interface SoakConfig {
  readonly stages: readonly Stage[];
  readonly seed: number;
  readonly short: boolean;
  /** The whole duration of the random traffic, in milliseconds. */
  readonly trafficMs: number;
}

const isStage = (name: string): boolean => stages.some((stage) => stage === name);

export const soakFlags = {
  minutes: flag.float(
    10,
    "minutes of random traffic, with random faults in the first two thirds; default with --short: 0.25",
    (minutes) => (minutes > 0 ? undefined : "must be above 0"),
  ),
  seed: flag.integer(1, "seed of the random choices; timing still varies"),
  short: flag.boolean(false, "only the stages sweep and traffic, with fewer sandboxes, in half a minute"),
  only: flag.string("", `one of ${stages.join(", ")}; empty: all, or those of --short`, (name) =>
    name === "" || isStage(name) ? undefined : `must be one of ${stages.join(", ")}`,
  ),
};

const shortMinutes = 0.25;
const shortStages: readonly Stage[] = ["sweep", "traffic"];

/**
 * @throws HelpRequested for `--help`.
 * @throws FlagError for any other invalid command line.
 */
export function parseSoakConfig(args: readonly string[]): SoakConfig {
  const { values, given, rest } = parseFlags(soakFlags, args);
  if (rest.length > 0) throw new FlagError(`unexpected argument: ${rest[0]}`);
  const { only, seed, short } = values;
  const minutes = short && !given.has("minutes") ? shortMinutes : values.minutes;
  const usual = short ? shortStages : stages;
  const chosen = only === "" ? usual : stages.filter((stage) => stage === only);
  return { stages: chosen, seed, short, trafficMs: minutes * 60_000 };
}
