// Writes the definitions of our kinds to crds/. A test fails when the files and the code differ.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { customResourceDefinitions } from "../api/crd/definitions.ts";
import { manifestFileName, manifestText } from "../api/crd/manifest.ts";

const folder = join(import.meta.dirname, "..", "crds");
mkdirSync(folder, { recursive: true });
for (const definition of customResourceDefinitions()) {
  writeFileSync(join(folder, manifestFileName(definition)), manifestText(definition));
}
