import type { Run } from "./command.ts";
import type { Inputs } from "./inputs.ts";
import type { Crane } from "./registry.ts";
import type { Source } from "./source.ts";

/** What the steps of a release share. */
export interface Workplace extends Inputs {
  /** For what is not published; it is removed at the end. */
  readonly work: string;
  /** The folder that is published. */
  readonly out: string;
  /** Where the release will be published: host and path. */
  readonly registry: string;
  /** Host and port of the registry that images are put together in. */
  readonly scratch: string;
  readonly crane: Crane;
  /** The path of the program. */
  readonly helm: string;
  readonly run: Run;
  readonly say: (line: string) => void;
}

/** The time of every file in a release. */
export const createdAt = ({ epochSeconds }: Source): string =>
  new Date(epochSeconds * 1_000).toISOString().replace(".000Z", "Z");
