import { FlagError, flag, parseFlags } from "../../lib/flags/flags.ts";

export const phases = ["bootstrap", "migrate", "leave", "revert"] as const;
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
    "bootstrap, before an upgrade: create the pools that claims without a pool will need. migrate, after an upgrade: make v1beta1 the stored version where it is not, and rewrite every object and owner reference in it. leave, before a rollback or an uninstall: protect the definitions from Helm, check that no name of a sandbox leads to activators, and list suspended sandboxes. revert, before a rollback to v0.4: make v1alpha1 the stored version, and rewrite every object and owner reference in it. Run revert again after the rollback: it rewrites the owner references that were written in v1beta1 meanwhile",
  ),
  "dry-run": flag.boolean(false, "print the intended writes, and write nothing"),
  namespace: flag.string(
    "",
    "read and write only objects in this namespace; empty: in all namespaces. Whatever the namespace, migrate and revert change the stored version of the whole cluster",
  ),
  kubeconfig: flag.string(
    "",
    "path of a kubeconfig; empty: KUBECONFIG, else ~/.kube/config, else the service account of the Pod",
  ),
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
