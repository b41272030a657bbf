import type { KubeClient } from "../../../kube/client/client.ts";
import { eventually } from "../eventually.ts";
import { type InterceptedCall, interceptCalls } from "./intercepted-client.ts";

/** The client of a controller that is killed by its own call: before the call has an effect, or after it. None of its later calls has any. */
export function killedAt(client: KubeClient, when: "before" | "after", is: (call: InterceptedCall) => boolean) {
  let isDead = false;
  const killed = Promise.withResolvers<never>();
  killed.promise.catch(() => {}); // the call may have ended by then
  const dying = interceptCalls(client, async (call, proceed) => {
    if (isDead) return killed.promise;
    if (!is(call)) return proceed();
    isDead = true;
    if (when === "after") await proceed();
    return killed.promise;
  });
  return {
    client: dying,
    /** Resolves once it is dead, and then lets its calls end. */
    async untilDead(): Promise<void> {
      await eventually(() => isDead);
      killed.reject(new Error("the controller is dead"));
    },
  };
}
