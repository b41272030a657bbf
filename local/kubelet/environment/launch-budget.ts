import type { Container, PodSpec } from "../../../api/kinds/core.ts";
import { ByteBudget } from "../byte-budget.ts";
import { StartRefused } from "../start-refusal.ts";
import { ExpansionTooLong, expand } from "./expansion.ts";

/** Linux starts no program with more bytes of arguments and environment, if its stack has the usual limit of 8 MiB. */
export const launchBytesMax = 2 * 1024 * 1024;
/** Linux takes no longer word or variable: 128 KiB with the zero byte at its end. */
export const wordBytesMax = 128 * 1024 - 1;
/** Of all containers of a Pod. They have equal shares, so that the order of starts does not matter. */
const podLaunchBytesMax = 16 * 1024 * 1024;

/** What the arguments and the environment of one container may take. */
export function launchBudget(container: Container, spec: PodSpec | undefined): ByteBudget {
  const { initContainers = [], containers = [] } = spec ?? {};
  const share = Math.floor(podLaunchBytesMax / Math.max(initContainers.length + containers.length, 1));
  const what = `the arguments and the environment of container "${container.name}"`;
  return new ByteBudget(what, Math.min(launchBytesMax, share));
}

/**
 * Expands the references of a text. It takes nothing from the budget.
 *
 * @throws StartRefused when the text is longer than a word may be, and when it would be longer than what is left.
 */
export function expandWithin(budget: ByteBudget, text: string, lookUp: (name: string) => string | undefined): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > wordBytesMax) {
    const message = `a word or a variable of the container has ${bytes} bytes, and may have at most ${wordBytesMax}`;
    throw new StartRefused("CreateContainerConfigError", message);
  }
  try {
    return expand(text, lookUp, budget.leftBytes);
  } catch (error) {
    if (error instanceof ExpansionTooLong) budget.take(budget.leftBytes + 1);
    throw error;
  }
}
