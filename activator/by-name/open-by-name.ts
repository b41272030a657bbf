import { tcpPorts } from "../../api/rules/declared-ports.ts";
import { effectiveAutoResume } from "../../api/rules/defaults.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import type { NameRefusal } from "../tcp-front/connection/refusals.ts";

/**
 * Why nobody may reach this port of a sandbox by name; undefined: everybody may. The owner opens the ports that the sandbox declares.
 * A connection to any other port would be held until that port accepts, and the sandbox may listen there for itself alone.
 */
export function refusalByName({ spec }: Pick<SlimSandbox, "spec">, port: number): NameRefusal | undefined {
  if (effectiveAutoResume(spec).allowFrom !== "Any") return "NotAllowedByName";
  return tcpPorts(spec.podTemplate.spec).includes(port) ? undefined : "PortNotDeclared";
}
