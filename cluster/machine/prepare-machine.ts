import { readFileSync } from "node:fs";
import { findOrBuild, type ToolBuilder, type ToolName } from "../../scripts/tools/build-tool.ts";
import { type BuiltPrograms, type ClusterProgram, clusterPrograms } from "../components.ts";
import type { ClusterConfig } from "../config.ts";
import type { Gvisor } from "../gvisor.ts";
import { mayLowerOomScore } from "./capabilities.ts";
import { loadBridgeFilter } from "./kernel-settings.ts";
import { installPackages, missing, observeMachine } from "./requirements.ts";

/** The machine lacks something. The message has a line for each missing thing, with the command that installs it. */
export class Unprepared extends Error {
  override readonly name = "Unprepared";
}

/**
 * Checks that the machine has everything that a cluster needs, and builds the missing programs.
 *
 * @throws Unprepared
 */
export async function prepareMachine(config: ClusterConfig, builder: ToolBuilder): Promise<BuiltPrograms> {
  await loadBridgeFilter();
  let machine = observeMachine(builder.environment);
  if (config.installPackages && machine.isRoot && machine.missingPackages.length > 0) {
    builder.say(`installing ${machine.missingPackages.join(", ")} ...`);
    await installPackages(machine.missingPackages);
    machine = observeMachine(builder.environment);
  }
  const lacking = missing(machine, config.directory);
  if (lacking.length > 0) throw new Unprepared(lacking.join("\n"));

  const built: Partial<Record<ClusterProgram, string>> = {};
  // One after the other: each build uses all cores.
  for (const name of clusterPrograms) built[name] = await build(name, builder);
  const programs = built as BuiltPrograms; // the loop above has filled in every name
  return config.gvisor ? { ...programs, gvisor: await buildGvisor(builder) } : programs;
}

async function buildGvisor(builder: ToolBuilder): Promise<Gvisor> {
  const shim = "containerd-shim-rouse-v1";
  const canLower = mayLowerOomScore(readFileSync("/proc/self/status", "utf8"));
  return {
    runsc: await build("runsc", builder),
    shim: await build(canLower ? shim : `${shim}-any-oom-score`, builder),
  };
}

async function build(name: ToolName, builder: ToolBuilder): Promise<string> {
  const path = await findOrBuild(name, builder);
  if (path === undefined) throw new Unprepared(`${name} cannot be built`);
  return path;
}
