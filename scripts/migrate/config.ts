import { FlagError, flag, parseFlags } from "../../lib/flags/flags.ts";

export const phases = ["bootstrap", "migrate", "revert"] as const;
export type Phase = (typeof phases)[number];

/** The options of a migration, from its command line. */
export interface MigrateConfig {
  readonly phase: Phase;
  /** Print the intended writes, and write nothing. */
  readonly dryRun: boolean;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** Path; undefined: from the environment. */
  readonly kubeconfig: string | undefined;
}

export const migrateFlags = {
  phase: flag.string(
    "",
    "bootstrap, before the upgrade: create the pools that claims without a pool will need; migrate, after it: rewrite every object in the stored version; revert, before a rollback: store and rewrite every object in v1alpha1, and again after it: rewrite owner references that were written in v1beta1 meanwhile",
  ),
  "dry-run": flag.boolean(false, "print the intended writes, and write nothing"),
  namespace: flag.string(
    "",
    "limit the phase to this namespace; empty: all namespaces. revert always changes the stored version of the whole cluster",
  ),
  kubeconfig: flag.string("", "path of a kubeconfig; empty: KUBECONFIG, else the Pod's service account"),
};

/**
 * @throws HelpRequested for `--help`.
 * @throws FlagError for any other invalid command line.
 */
export function parseMigrateConfig(args: readonly string[]): MigrateConfig {
  const { values, rest } = parseFlags(migrateFlags, args);
  if (rest.length > 0) throw new FlagError(`unexpected argument: ${rest[0]}`);
  const phase = phases.find((known) => known === values.phase);
  if (!phase) throw new FlagError(`--phase must be one of ${phases.join(", ")}`);
  return {
    phase,
    dryRun: values["dry-run"],
    namespace: values.namespace || undefined,
    kubeconfig: values.kubeconfig || undefined,
  };
}
