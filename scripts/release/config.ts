import { FlagError, type FlagValues, flag, parseFlags } from "../../lib/flags/flags.ts";

export type ReleaseAction = "make" | "make and publish" | "publish" | "check";

/** What a release is made of and where it goes, read once from the command line. */
export interface ReleaseConfig {
  readonly action: ReleaseAction;
  /** Undefined: `v` and the version of package.json. */
  readonly tag: string | undefined;
  /** Host and path, without a scheme. */
  readonly registry: string;
  /** The name of the base image; undefined: it is made from packages. */
  readonly base: string | undefined;
  /** Undefined: `dist` and the version. */
  readonly out: string | undefined;
  /** The folder of a release that was made before and is published now; undefined: one is made. */
  readonly publishOnly: string | undefined;
  /** The path of a private key. */
  readonly signKey: string | undefined;
}

const placeholder = "registry.example.com/rouse";

const registryProblem = (registry: string) =>
  /^[a-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)*$/.test(registry)
    ? undefined
    : `"${registry}" is not a host with a path, such as ${placeholder}`;

export const releaseFlags = {
  "dry-run": flag.boolean(false, "make the release in --out, and publish nothing"),
  check: flag.boolean(
    false,
    "make the release of the tag twice (without --tag of the checked-out commit, if the tag of its version does not exist yet), compare all bytes, and publish only to a temporary registry on this machine",
  ),
  "publish-only": flag.string(
    "",
    "directory of a release that was made before: verify it with the key, make nothing, and publish what is not yet published",
  ),
  tag: flag.string("", "tag to release; empty: v and the version of package.json"),
  registry: flag.string(
    placeholder,
    "registry and path under which images and chart are published; manifests and chart refer to it; required to publish",
    registryProblem,
  ),
  base: flag.string(
    "",
    "base image for linux/amd64 and linux/arm64, with Node 24 on its PATH; empty: one is made from packages of Debian and npm",
  ),
  out: flag.string("", "directory of the release, which must not exist; empty: dist/VERSION"),
  "sign-key": flag.string(
    "",
    "path of the private key (ECDSA P-256, PEM) that signs the checksums; with --publish-only of the one that signed them; required to publish; empty: no signature",
  ),
};

/**
 * @throws HelpRequested for `--help`.
 * @throws FlagError for anything else that cannot be done.
 */
export function parseReleaseConfig(args: readonly string[]): ReleaseConfig {
  const { values, given, rest } = parseFlags(releaseFlags, args);
  if (rest.length > 0) throw new FlagError(`unexpected argument: ${rest[0]}`);
  const action = actionOf(values);
  if (action === "publish") {
    for (const name of ["tag", "base", "out"] as const)
      if (values[name] !== "") throw new FlagError(`--publish-only and --${name} exclude each other`);
  }
  if (action === "publish" || action === "make and publish") {
    if (!given.has("registry")) throw new FlagError("--registry is required to publish; --dry-run publishes nothing");
    if (values["sign-key"] === "") throw new FlagError("--sign-key is required to publish");
  }
  return {
    action,
    tag: values.tag || undefined,
    registry: values.registry,
    base: values.base || undefined,
    out: values.out || undefined,
    publishOnly: values["publish-only"] || undefined,
    signKey: values["sign-key"] || undefined,
  };
}

function actionOf(values: FlagValues<typeof releaseFlags>): ReleaseAction {
  const asked: ReleaseAction[] = [];
  if (values["dry-run"]) asked.push("make");
  if (values.check) asked.push("check");
  if (values["publish-only"] !== "") asked.push("publish");
  if (asked.length > 1) throw new FlagError("--dry-run, --check and --publish-only exclude each other");
  return asked[0] ?? "make and publish";
}
