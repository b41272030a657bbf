import { arch, platform } from "node:os";
import { Gauge, type Registry } from "prom-client";
import packageJson from "../../package.json" with { type: "json" };

export const version: string = packageJson.version;

/** Registers `agent_sandbox_build_info`, under the label names that dashboards know it by. */
export function registerBuildInfo(registry: Registry): void {
  const info = {
    git_version: `v${version}`,
    git_commit: "",
    build_date: "",
    go_version: `node ${process.version}`,
    compiler: "v8",
    platform: `${platform()}/${arch()}`,
  };
  new Gauge({
    name: "agent_sandbox_build_info",
    help: "Version of this program; always 1.",
    labelNames: Object.keys(info),
    registers: [registry],
  }).set(info, 1);
}
