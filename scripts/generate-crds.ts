// Writes the definitions of our kinds to crds/, and the chart's copies. A test fails when the files and the code differ.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { allDefinitions } from "../api/crd/definitions.ts";
import { manifestPath, manifestText } from "../api/crd/manifest.ts";

const root = join(import.meta.dirname, "..");
for (const folder of [join(root, "crds"), join(root, "charts", "rouse", "files", "crds")]) {
  for (const definition of allDefinitions()) {
    const file = join(folder, manifestPath(definition));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, manifestText(definition));
  }
}
