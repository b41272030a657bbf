import { stat } from "node:fs/promises";
import type { Container, Pod } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { ownField } from "../../../lib/data/own-fields.ts";
import { makeFolders } from "../../../lib/files/make-folders.ts";
import { environmentReferences, makeEnvironment } from "../environment/container-environment.ts";
import { expandWithin, launchBudget } from "../environment/launch-budget.ts";
import { readReferredObjects } from "../environment/referred-objects.ts";
import { serviceVariables } from "../environment/service-variables.ts";
import type { NodeServices } from "../node/node-services.ts";
import type { Launch } from "../process/process.ts";
import { findProgram } from "../process/program.ts";
import { StartRefused } from "../start-refusal.ts";
import { placeInVolume } from "../volumes/container-place.ts";

export interface LaunchRequest {
  readonly pod: Stored<Pod>;
  readonly container: Container;
  readonly podIp: string;
  readonly volumeDirectories: ReadonlyMap<string, string>;
}

/**
 * The program of a container, with its environment and directory. ConfigMaps and Secrets are read again at each start.
 *
 * @throws StartRefused when an object that it needs does not exist, or when arguments and environment are too long.
 */
export async function makeLaunch(services: NodeServices, request: LaunchRequest, signal: AbortSignal): Promise<Launch> {
  const { client, nodeName, hostIp, inherited, links } = services;
  const { pod, container, podIp, volumeDirectories } = request;
  const objects = await readReferredObjects(client, pod.metadata.namespace, environmentReferences(container), signal);
  const place = { podIp, hostIp, nodeName };
  const linked = pod.spec?.enableServiceLinks === false ? [] : links.by("namespace", pod.metadata.namespace ?? "");
  const budget = launchBudget(container, pod.spec);
  const environment = makeEnvironment({
    ...{ pod, container, place, objects, inherited, volumeDirectories, budget },
    services: serviceVariables(linked),
  });
  const argv = commandOf(container).map((word) => {
    const expanded = expandWithin(budget, word, (name) => ownField(environment, name));
    budget.take(Buffer.byteLength(expanded));
    return expanded;
  });
  const workingDirectory = await makeWorkingDirectory(services, request);
  const [word = ""] = argv;
  // If the program is not found, the system's error becomes the StartError of the container.
  const program = findProgram(word, environment["PATH"] ?? "", workingDirectory) ?? word;
  return { program, argv, environment, workingDirectory };
}

function commandOf({ command = [], args = [] }: Container): readonly string[] {
  return [...command, ...args];
}

async function makeWorkingDirectory(
  { directories }: NodeServices,
  { pod, container, volumeDirectories }: LaunchRequest,
): Promise<string> {
  const { name, workingDir } = container;
  const inVolume = workingDir && placeInVolume(workingDir, container, volumeDirectories);
  const ours = inVolume || (workingDir ? undefined : directories.scratch(pod.metadata.uid, name));
  if (ours) {
    await makeFolders(ours);
    return ours;
  }
  const found = await stat(workingDir ?? "").catch(() => undefined);
  if (workingDir && found?.isDirectory()) return workingDir;
  const message = `workingDir "${workingDir}" is neither in a volume of the container nor a directory of this machine`;
  throw new StartRefused("CreateContainerError", message);
}
