import { activatorFlags } from "../../activator/config/flags.ts";
import { controllerFlags } from "../../controller/config/controller-flags.ts";
import { type FlagTable, formatDuration } from "../../lib/flags/flags.ts";
import { code, page, table } from "./markdown.ts";

function rowsOf(flags: FlagTable): readonly (readonly string[])[] {
  return Object.entries(flags).map(([name, { kind, default: value, help }]) => {
    const shown = kind === "duration" ? formatDuration(value as number) : String(value);
    return [code(`--${name}`), kind, shown === "" ? "" : code(shown), `${help}.`];
  });
}

const heads = ["Flag", "Type", "Default", "Meaning"];

export function flagsPage(): string {
  return page("Flags", [
    "Flags have the syntax of Go's flag package: `-name`, `--name`, `--name=value`, `--name value`. A duration is written like `1h30m` or `500ms`.",
    "## Controller",
    table(heads, rowsOf(controllerFlags)),
    "## Activator",
    "Each flag can also be set in the YAML file that `--config` names. The command line overrides that file.",
    table(heads, rowsOf(activatorFlags)),
  ]);
}
