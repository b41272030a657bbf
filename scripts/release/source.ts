import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Run } from "./command.ts";

/** The commit that a release is made from. */
export interface Source {
  readonly version: string;
  /** Undefined in a dry run of a version that has no tag yet. */
  readonly tag: string | undefined;
  readonly commit: string;
  /** SOURCE_DATE_EPOCH: as given, else when the commit was made. */
  readonly epochSeconds: number;
  /** The Node that package.json pins. */
  readonly nodeVersion: string;
}

export interface SourceQuestion {
  readonly repository: string;
  readonly run: Run;
  /** Undefined: `v` and the version of package.json in the commit that is checked out. */
  readonly tag: string | undefined;
  /** Whether the commit that is checked out is used if the tag of its version does not exist yet. */
  readonly mayLackTag: boolean;
  /** SOURCE_DATE_EPOCH of the environment. */
  readonly sourceDateEpoch: string | undefined;
}

/** @throws when there is no such tag, or the tag, package.json and Chart.yaml differ in the version. */
export async function findSource(question: SourceQuestion): Promise<Source> {
  const { repository, run, mayLackTag, sourceDateEpoch } = question;
  const git = async (...args: string[]) => (await run("git", args, { directory: repository })).trim();
  const manifestOf = async (commit: string) => JSON.parse(await git("show", `${commit}:package.json`));

  const tag = question.tag ?? `v${(await manifestOf("HEAD")).version}`;
  const tagged = await git("rev-parse", "--verify", "--quiet", `refs/tags/${tag}^{commit}`).catch(() => undefined);
  if (tagged === undefined && (question.tag !== undefined || !mayLackTag)) {
    throw new Error(`there is no tag ${tag}: make it with "git tag --sign ${tag}"`);
  }
  const commit = tagged ?? (await git("rev-parse", "HEAD"));
  const { version, dependencies } = await manifestOf(commit);
  if (tagged !== undefined && tag !== `v${version}`) {
    throw new Error(`the tag ${tag} is on a commit whose package.json has the version ${version}`);
  }
  const chart = parse(await git("show", `${commit}:charts/rouse/Chart.yaml`));
  if (chart.version !== version || chart.appVersion !== version) {
    throw new Error(
      `package.json has the version ${version}, Chart.yaml the version ${chart.version} and the appVersion ${chart.appVersion}`,
    );
  }
  const committed = await git("log", "-1", "--format=%ct", commit);
  return {
    version,
    tag: tagged === undefined ? undefined : tag,
    commit,
    epochSeconds: epochOf(sourceDateEpoch ?? committed),
    nodeVersion: dependencies.node,
  };
}

function epochOf(text: string): number {
  if (!/^\d{1,11}$/.test(text)) throw new Error(`SOURCE_DATE_EPOCH is "${text}", which is no number of seconds`);
  return Number(text);
}

/** Puts the files of the commit into a folder, with the packages that the programs run on, as package-lock.json pins them. */
export async function checkOut(source: Source, repository: string, folder: string, run: Run): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const archive = `${folder}.tar`;
  await run("git", ["archive", "--format=tar", `--output=${archive}`, source.commit], { directory: repository });
  await run("tar", ["--extract", `--file=${archive}`, `--directory=${folder}`]);
  rmSync(archive);
  // No script of a package runs: nothing that is published may depend on what one does on this machine.
  await run("npm", ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], {
    directory: folder,
  });
  rmSync(join(folder, "node_modules", ".package-lock.json"), { force: true });
}
