import { activatorFlags } from "../../activator/config/flags.ts";
import { controllerFlags } from "../../controller/config/controller-flags.ts";
import { type FlagTable, formatDuration } from "../../lib/flags/flags.ts";
import { agentFlags } from "../../node/agent/config/agent-flags.ts";
import { code, page, table } from "./markdown.ts";

function rowsOf(flags: FlagTable): readonly (readonly string[])[] {
  return Object.entries(flags).map(([name, { kind, default: value, help }]) => {
    const shown = kind === "duration" ? formatDuration(value as number) : String(value);
    // The default of some flags depends on the environment, and its text says so.
    const isElsewhere = help.includes("; default: ");
    return [code(`--${name}`), kind, isElsewhere ? "see meaning" : shown === "" ? "" : code(shown), `${help}.`];
  });
}

const heads = ["Flag", "Type", "Default", "Meaning"];

export function flagsPage(): string {
  return page("Flags", [
    "Flags have the syntax of Go's flag package: `--name=value` or `--name value`, with one or two dashes. A boolean is set by `--name`, `--name=true` or `--name=false`; `--name false` is an error. A duration is written like `1h30m` or `500ms`.",
    "## Controller",
    table(heads, rowsOf(controllerFlags)),
    "## Activator",
    "Each flag but `--config` can also be set in the YAML file that `--config` or the variable `SANDBOX_ROUTER_CONFIG` names. The command line overrides that file. Quote values that YAML reads as numbers, such as a name `0123` or `1e3`.",
    "These variables set a flag that neither the command line nor the file sets: `CLUSTER_DOMAIN`, `PROXY_TIMEOUT_SECONDS`, `MAX_KEEPALIVE_CONNECTIONS` (`--max-idle-upstream`), `WEBSOCKET_IDLE_TIMEOUT_SECONDS` (`--tunnel-idle-timeout`), `WEBSOCKET_MAX_LIFETIME_SECONDS` (`--tunnel-lifetime`).",
    table(heads, rowsOf(activatorFlags)),
    "## Node agent",
    table(heads, rowsOf(agentFlags)),
  ]);
}
