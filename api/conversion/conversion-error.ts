export type ConversionFailure =
  /** The kind is not converted here. */
  | "UnknownKind"
  /** The kind does not have this version. */
  | "UnknownVersion"
  /** Not an object of the kind in any version. */
  | "MalformedObject";

/** An object cannot be converted. The message is for the client that requested the object. */
export class ConversionError extends Error {
  override readonly name = "ConversionError";
  readonly failure: ConversionFailure;

  constructor(failure: ConversionFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}
