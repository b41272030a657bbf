import type { KeyObject } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeChart } from "./chart.ts";
import { checksums, checksumsFile, signatureFile } from "./checksums.ts";
import type { Run } from "./command.ts";
import { programs } from "./images/image-packages.ts";
import { makeBases, makeImages } from "./images/images.ts";
import type { OciArchive } from "./images/oci-archive.ts";
import type { Inputs } from "./inputs.ts";
import { writeManifests } from "./manifests.ts";
import { createCrane, startScratchRegistry } from "./registry.ts";
import { signText } from "./signature.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { createdAt } from "./workplace.ts";

/** What a release is made with. */
export interface ReleaseTools {
  readonly run: Run;
  /** Paths of programs. */
  readonly crane: string;
  readonly helm: string;
  readonly say: (line: string) => void;
}

export interface ReleaseOrder {
  readonly inputs: Inputs;
  readonly registry: string;
  /** The folder to make. */
  readonly out: string;
  /** Undefined: the checksums are not signed. */
  readonly key: KeyObject | undefined;
}

/** `release.json`: what a release consists of, for programs. */
export interface Release {
  readonly version: string;
  readonly tag?: string | undefined;
  readonly commit: string;
  readonly created: string;
  readonly registry: string;
  /** What is published to the registry, in the order in which it may be published. */
  readonly oci: readonly OciArchive[];
}

/**
 * Makes everything that is published, in a folder. Each part has a folder of its own in it: images, charts, manifests, sbom.
 *
 * @throws when the folder exists, or a part cannot be made; the folder is removed then.
 */
export async function makeRelease(order: ReleaseOrder, tools: ReleaseTools): Promise<Release> {
  const { out } = order;
  if (existsSync(out))
    throw new Error(`${out} exists already: remove it, give another with --out, or publish it with --publish-only`);
  mkdirSync(out, { recursive: true });
  const removeHalfMade = () => rmSync(out, { recursive: true, force: true });
  // A signal ends the process in the middle.
  process.on("exit", removeHalfMade);
  using work = temporaryFolder("release");
  try {
    return await makeParts(order, tools, work.path);
  } catch (error) {
    removeHalfMade();
    throw error;
  } finally {
    process.off("exit", removeHalfMade);
  }
}

async function makeParts(order: ReleaseOrder, tools: ReleaseTools, work: string): Promise<Release> {
  const { inputs, registry, out, key } = order;
  const { run, say, helm } = tools;
  const crane = createCrane(tools.crane, run);
  await using scratch = await startScratchRegistry(tools.crane, join(work, "registry"));
  const place = { ...inputs, work, out, registry, scratch: scratch.address, crane, helm, run, say };
  const images = await makeImages(place, await makeBases(place));
  const chart = await makeChart(place, images);
  writeManifests(place, images);
  for (const file of ["LICENSE", "NOTICE"]) copyFileSync(join(inputs.checkout, file), join(out, file));
  const { version, tag, commit } = inputs.source;
  const oci = [...programs.map((program) => images[program]), chart];
  const release: Release = { version, tag, commit, created: createdAt(inputs.source), registry, oci };
  writeFileSync(join(out, "release.json"), `${JSON.stringify(release, undefined, 2)}\n`);
  const sums = checksums(out);
  writeFileSync(join(out, checksumsFile), sums);
  if (key !== undefined) writeFileSync(join(out, signatureFile), signText(sums, key));
  return release;
}
