// Writes NOTICE from the licences of the packages that the images contain: `npm run generate:notice`.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { noticePage } from "./notice-page.ts";

const repository = join(import.meta.dirname, "..", "..", "..");
writeFileSync(join(repository, "NOTICE"), noticePage(repository));
