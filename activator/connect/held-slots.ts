import { ActivatorError } from "../failures/errors-for-clients.ts";
import type { HoldLimits } from "../hold/hold-limits.ts";
import type { ConnectClient, ConnectRequest, Destination } from "./connect-request.ts";

type HeldClient = Pick<ConnectClient, "head" | "keptBytesMax">;

/** Takes the slots of a connect request: see `heldSlots`. */
export function slotsOf(
  { to, client, deps, isOutsider }: ConnectRequest,
  crowded: (error: ActivatorError) => void,
): Disposable {
  return heldSlots(isOutsider ? deps.outsiderLimits : deps.holdLimits, to, client, crowded);
}

/**
 * Takes the slots of a request or a raw connection: for its head, and for what is kept of its body, also of what arrives later. `crowded`
 * is called if there is no slot for that: then the request must end.
 *
 * @throws ActivatorError if no slot is free.
 */
export function heldSlots(
  limits: Pick<HoldLimits, "lend">,
  { namespace, name }: Pick<Destination, "namespace" | "name">,
  { head, keptBytesMax = 0 }: HeldClient,
  crowded: (error: ActivatorError) => void,
): Disposable {
  const body = head?.keptBody;
  const slots = limits.lend(namespace, name, (head?.bytes ?? keptBytesMax) + (body?.keptBytes ?? 0));
  if (!body) return slots;
  body.onGrowth((more) => {
    if (!slots.grow(more)) crowded(new ActivatorError("HoldLimitReached"));
  });
  return {
    [Symbol.dispose]: () => {
      body.onGrowth(undefined);
      slots[Symbol.dispose]();
    },
  };
}
