import type { Logger } from "../log/log.ts";
import type { Clock } from "../time/clock.ts";
import { OncePerMinute } from "../time/once-per-minute.ts";

/**
 * A reading that fails is logged as `failure` with its key, at most once a minute, and has no result: an object that one tenant
 * wrote must not end the work for all.
 */
export function eachByItself<T>(
  read: (key: string) => T | undefined,
  failure: string,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): (key: string) => T | undefined {
  const lines = new OncePerMinute(clock);
  return (key) => {
    try {
      return read(key);
    } catch (err) {
      if (lines.asks(key)) log.error({ err, key }, failure);
      return undefined;
    }
  };
}
