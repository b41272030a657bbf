import { availableParallelism, totalmem } from "node:os";
import type { Container, Pod, ResourceFieldRef } from "../../../api/kinds/core.ts";
import { exactQuantity } from "../../../api/rules/quantity.ts";
import { StartRefused } from "../start-refusal.ts";

/**
 * The value of `limits.cpu`, `requests.memory` and so on, in units of its divisor and rounded up. An absent limit is
 * the machine's capacity, as on a node; an absent request is 0.
 *
 * @throws StartRefused for an unknown resource, container or divisor.
 */
export function resourceValue(reference: ResourceFieldRef, self: Container, pod: Pod): string {
  const { resource, containerName, divisor = "1" } = reference;
  const container = containerName ? pod.spec?.containers.find(({ name }) => name === containerName) : self;
  const match = /^(limits|requests)\.(cpu|memory|ephemeral-storage)$/.exec(resource);
  // The API server stores an absent divisor as "0", which means 1.
  const unit = exactQuantity(divisor) || exactQuantity(1) || 1n;
  if (!container || !match) throw new StartRefused("CreateContainerConfigError", `unsupported resource: ${resource}`);
  const [, side, name = ""] = match;
  const stated = side === "limits" ? container.resources?.limits?.[name] : container.resources?.requests?.[name];
  const ours = side === "limits" ? machineHas(name) : 0;
  const value = (stated === undefined ? undefined : exactQuantity(stated)) ?? exactQuantity(ours) ?? 0n;
  return String(value / unit + (value % unit > 0n ? 1n : 0n));
}

function machineHas(resource: string): number {
  if (resource === "cpu") return availableParallelism();
  return resource === "memory" ? totalmem() : 0;
}
