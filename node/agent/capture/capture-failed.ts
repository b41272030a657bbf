export const failureReasons = [
  "FreezeFailed",
  "CheckpointFailed",
  "DiskFull",
  "StoreFull",
  "NamespaceFull",
  "DeadlineExceeded",
  "GivenUp",
  "Interrupted",
] as const;
export type FailureReason = (typeof failureReasons)[number];

/** There is no image, or it must not be used. The Pod may be frozen. */
export class CaptureFailed extends Error {
  override readonly name = "CaptureFailed";
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
