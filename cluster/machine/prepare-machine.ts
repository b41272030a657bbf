import { findOrBuild, type ToolBuilder } from "../../scripts/tools/build-tool.ts";
import { type BuiltPrograms, type ClusterProgram, clusterPrograms } from "../components.ts";
import type { ClusterConfig } from "../config.ts";
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
  for (const name of clusterPrograms) {
    const path = await findOrBuild(name, builder);
    if (path === undefined) throw new Unprepared(`${name} cannot be built`);
    built[name] = path;
  }
  return built as BuiltPrograms; // the loop above has filled in every name
}
