import { chartPage } from "./chart-page.ts";
import { errorsPage } from "./errors-page.ts";
import { fieldsPage } from "./fields-page.ts";
import { flagsPage } from "./flags-page.ts";
import { metricsPage } from "./metrics-page.ts";
import { reasonsPage } from "./reasons-page.ts";

/** Every page of `docs/reference/`, by the name of its file. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ["chart-values.md", chartPage()],
    ["errors.md", errorsPage()],
    ["events-and-conditions.md", reasonsPage()],
    ["fields.md", fieldsPage()],
    ["flags.md", flagsPage()],
    ["metrics.md", await metricsPage()],
  ]);
}
