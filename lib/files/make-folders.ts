import { mkdirSync, type Stats, statSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

const usualMode = 0o777;

/**
 * Creates a folder and its missing parents; all of them get `mode`. For every path that a user can choose: the recursive `mkdir` of Node 24
 * never settles where a file system answers ENOENT although the parent is there, as `/proc` does.
 *
 * @throws the error of the system, also if something else than a folder is there.
 */
export async function makeFolders(path: string, mode: number = usualMode): Promise<void> {
  const steps = stepsTo(path);
  for (let step = steps.next(); !step.done; ) {
    const error = await mkdir(step.value, { mode }).then(() => undefined, asSystemError);
    const found = needsLook(error) ? await stat(step.value).catch(() => undefined) : undefined;
    step = steps.next({ error, found });
  }
}

/** As `makeFolders`, at once. */
export function makeFoldersSync(path: string, mode: number = usualMode): void {
  const steps = stepsTo(path);
  for (let step = steps.next(); !step.done; ) {
    const error = tryToMake(step.value, mode);
    const found = needsLook(error) ? statSync(step.value, { throwIfNoEntry: false }) : undefined;
    step = steps.next({ error, found });
  }
}

interface Made {
  readonly error: NodeJS.ErrnoException | undefined;
  /** What is there, if the error is another than ENOENT. */
  readonly found: Stats | undefined;
}

/**
 * The folders to create one after the other: up to the first that has a parent, then down again. Each is tried twice at most, so there is an
 * end.
 */
function* stepsTo(path: string): Generator<string, void, Made> {
  const missing: string[] = [];
  let folder = resolve(path);
  while (!isThere(yield folder, dirname(folder) !== folder)) {
    missing.push(folder);
    folder = dirname(folder);
  }
  for (const below of missing.toReversed()) isThere(yield below, false);
}

/** Whether the folder is there now. @throws its error, but not a first ENOENT: then its parent has to be created. */
function isThere({ error, found }: Made, mayLackParent: boolean): boolean {
  if (!error || found?.isDirectory()) return true;
  if (error.code === "ENOENT" && mayLackParent) return false;
  throw error;
}

const needsLook = (error: NodeJS.ErrnoException | undefined): boolean => error !== undefined && error.code !== "ENOENT";

const asSystemError = (error: unknown): NodeJS.ErrnoException => error as NodeJS.ErrnoException;

function tryToMake(folder: string, mode: number): NodeJS.ErrnoException | undefined {
  try {
    mkdirSync(folder, { mode });
    return undefined;
  } catch (error) {
    return asSystemError(error);
  }
}
