import type { Definition } from "./definition.ts";
import { sandboxDefinition } from "./sandbox.ts";
import { sandboxClaimDefinition } from "./sandbox-claim.ts";
import { sandboxTemplateDefinition } from "./sandbox-template.ts";
import { sandboxWarmPoolDefinition } from "./sandbox-warm-pool.ts";

/** The definitions of all four kinds: the same data as the files in `crds/`, without reading them. */
export const customResourceDefinitions = (): readonly Definition[] => [
  sandboxDefinition,
  sandboxClaimDefinition,
  sandboxTemplateDefinition,
  sandboxWarmPoolDefinition,
];
