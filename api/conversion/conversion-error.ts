export type ConversionFailure =
  /** Not a kind that is converted here. */
  | "UnknownKind"
  /** Not a version of the kind. */
  | "UnknownVersion"
  /** Not an object of the kind, whatever its version. */
  | "MalformedObject"
  /** The annotation that stands for `volumeClaimTemplatesPolicy` holds none of its values. */
  | "InvalidPolicy";

/** An object cannot be converted. The message is for the person who asked for the object. */
export class ConversionError extends Error {
  override readonly name = "ConversionError";
  readonly failure: ConversionFailure;

  constructor(failure: ConversionFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}
