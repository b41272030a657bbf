import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import { templateRefAnnotation } from "../../../api/rules/keys.ts";
import type { Observed } from "../observed.ts";

/**
 * The template that a Sandbox was created from, by the Sandbox's own annotation; undefined when that template is gone.
 * The pool may name another template by now, whose NetworkPolicy does not apply to this Pod. A Sandbox of an older
 * release may lack the annotation: then the pool's template is the best guess.
 */
export function templateOf(
  { metadata }: Sandbox,
  { template, templateNamed }: Pick<Observed, "template" | "templateNamed">,
): Stored<SandboxTemplate> | undefined {
  const name = metadata.annotations?.[templateRefAnnotation];
  return name ? templateNamed(name) : template;
}
