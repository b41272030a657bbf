import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryFolder extends Disposable {
  readonly path: string;
}

/** A new folder, which is removed with its contents when it is disposed of, or when the process exits before. */
export function temporaryFolder(name: string): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), `rouse-${name}-`));
  const remove = () => rmSync(path, { recursive: true, force: true });
  process.on("exit", remove);
  return {
    path,
    [Symbol.dispose]() {
      process.off("exit", remove);
      remove();
    },
  };
}
