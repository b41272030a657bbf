import { AsyncResource } from "node:async_hooks";

/** As Node has it. */
export const bindOfNode = AsyncResource.prototype.bind;

/**
 * Replaces `AsyncResource.prototype.bind`, which Node's client of HTTP/2 calls for each stream. Node's own bind also defines a deprecated
 * property (DEP0172), with four functions that V8 puts into the old space at once. They refer to the stream, so each one stays until the next
 * full collection of garbage (decision 91). This one binds, and defines nothing.
 */
export function useLeanBind(): void {
  AsyncResource.prototype.bind = bindLeanly;
}

function bindLeanly<F extends (...args: never[]) => unknown>(this: AsyncResource, fn: F): F;
function bindLeanly(
  this: AsyncResource,
  fn: (...args: unknown[]) => unknown,
  thisArg?: unknown,
): (...args: unknown[]) => unknown {
  const resource = this;
  return function bound(this: unknown, ...args: unknown[]) {
    return resource.runInAsyncScope(fn, thisArg === undefined ? this : thisArg, ...args);
  };
}
