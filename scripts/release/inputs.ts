import { join } from "node:path";
import { type BasePackages, fetchPackages } from "./base/fetch-packages.ts";
import type { Run } from "./command.ts";
import { type Platform, platforms } from "./platforms.ts";
import { checkOut, type Source } from "./source.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { together } from "./together.ts";

/** What the base image is taken from. */
export type BaseOrigin =
  | { readonly kind: "image"; readonly name: string }
  | { readonly kind: "packages"; readonly packages: ReadonlyMap<Platform, BasePackages> };

/** What a release is made from, and what has to be downloaded for it. */
export interface Inputs {
  readonly source: Source;
  /** The folder with the files of the commit and the packages that the programs run on. */
  readonly checkout: string;
  readonly base: BaseOrigin;
}

export interface InputsWanted {
  readonly source: Source;
  readonly repository: string;
  /** The name of the base image; undefined: its packages are downloaded. */
  readonly base: string | undefined;
  readonly run: Run;
}

/** Makes the inputs of a release, for as long as `use` takes. */
export async function withInputs<T>(wanted: InputsWanted, use: (inputs: Inputs) => Promise<T>): Promise<T> {
  const { source, repository, run } = wanted;
  using folder = temporaryFolder("inputs");
  const checkout = join(folder.path, "checkout");
  const [base] = await together([baseOrigin(wanted, folder.path), checkOut(source, repository, checkout, run)]);
  return await use({ source, checkout, base });
}

async function baseOrigin({ base, source, run }: InputsWanted, folder: string): Promise<BaseOrigin> {
  if (base !== undefined) return { kind: "image", name: base };
  const fetched = await together(
    platforms.map(async (platform) => {
      const packages = await fetchPackages(platform, source.nodeVersion, join(folder, platform.architecture), run);
      return [platform, packages] as const;
    }),
  );
  return { kind: "packages", packages: new Map(fetched) };
}
