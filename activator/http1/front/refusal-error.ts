import { ActivatorError } from "../../errors.ts";
import { type Refusal, statusOf } from "../refusals.ts";

/** What the client is told whose message was refused. CONNECT is refused for itself, whatever else is wrong with it. */
export function errorOfRefusal(refusal: Refusal, method = ""): ActivatorError {
  if (method === "CONNECT") return new ActivatorError("MethodNotAllowed");
  switch (statusOf(refusal)) {
    case 413:
      return new ActivatorError("BodyTooLarge");
    case 414:
      return new ActivatorError("TargetTooLong");
    case 431:
      return new ActivatorError("HeadersTooLarge");
    default:
      return new ActivatorError("MalformedRequest", { because: inWords(refusal) });
  }
}

/** `SpaceBeforeColon` is "space before colon". */
const inWords = (refusal: Refusal) => refusal.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
