import type { TestProject } from "vitest/node";
import { bringClusterUp } from "../support/bring-cluster-up.ts";

/** Starts the cluster with gVisor, or adds gVisor to the one that runs. */
export const setup = (project: TestProject) => bringClusterUp(project, ["--gvisor"]);
