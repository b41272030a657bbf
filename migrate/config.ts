import { FlagError, flag, parseFlags } from "../lib/flags.ts";

export const phases = ["bootstrap", "migrate", "revert"] as const;
export type Phase = (typeof phases)[number];

/** What the migration is asked to do, read once from its command line. */
export interface MigrateConfig {
  readonly phase: Phase;
  /** Say what would be written, and write nothing. */
  readonly dryRun: boolean;
  /** Undefined: all of them. */
  readonly namespace: string | undefined;
  /** Path; undefined: what the environment says. */
  readonly kubeconfig: string | undefined;
}

export const migrateFlags = {
  phase: flag.string(
    "",
    "bootstrap, before the upgrade: make the pools that claims without one will need; migrate, after it: rewrite every object in the stored version; revert, before going back: store and rewrite every object in v1alpha1",
  ),
  "dry-run": flag.boolean(false, "say what would be written, and write nothing"),
  namespace: flag.string("", "look only into this namespace; empty: into all of them"),
  kubeconfig: flag.string("", "path of a kubeconfig; empty: KUBECONFIG, else the Pod's service account"),
};

/**
 * @throws HelpRequested for `--help`.
 * @throws FlagError for anything else that cannot be done.
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
