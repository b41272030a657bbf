import { withoutParameter } from "./query.ts";

export interface TargetChanges {
  /** The characters of the target that name the sandbox; 0: none. */
  readonly length: number;
  /** The query parameter that holds a credential for the activator, if any. */
  readonly hidden: string | undefined;
}

/**
 * The request target for a sandbox that the path named: what follows the path of its name, byte for byte, without the credential. It
 * begins with a slash.
 */
export function sandboxTarget(target: string, { length, hidden }: TargetChanges): string {
  const own = target.slice(length);
  const rooted = own.startsWith("/") ? own : `/${own}`;
  return hidden === undefined ? rooted : withoutParameter(rooted, hidden);
}
