// Writes the definitions of our kinds to crds/, and the chart's copies. A test fails when the files and the code differ.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { customResourceDefinitions } from "../api/crd/definitions.ts";
import { manifestFileName, manifestText } from "../api/crd/manifest.ts";

const root = join(import.meta.dirname, "..");
for (const folder of [join(root, "crds"), join(root, "charts", "rouse", "files", "crds")]) {
  mkdirSync(folder, { recursive: true });
  for (const definition of customResourceDefinitions()) {
    writeFileSync(join(folder, manifestFileName(definition)), manifestText(definition));
  }
}
