import type { Definition } from "./definition.ts";
import { memoryImageDefinition } from "./memory-image.ts";
import { sandboxDefinition } from "./sandbox.ts";
import { sandboxClaimDefinition } from "./sandbox-claim.ts";
import { sandboxTemplateDefinition } from "./sandbox-template.ts";
import { sandboxWarmPoolDefinition } from "./sandbox-warm-pool.ts";

/** The definitions of the four kinds that every installation has: the same data as the files in `crds/`, without reading them. */
export const customResourceDefinitions = (): readonly Definition[] => [
  sandboxDefinition,
  sandboxClaimDefinition,
  sandboxTemplateDefinition,
  sandboxWarmPoolDefinition,
];

/** With the kind for hibernation, which is installed only where hibernation is enabled. */
export const allDefinitions = (): readonly Definition[] => [...customResourceDefinitions(), memoryImageDefinition];
