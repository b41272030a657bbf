/** Why a container does not start, in the words that the kubelet uses for it where it has any. */
export type RefusalReason = "CreateContainerConfigError" | "CreateContainerError" | "ContainerCreating";

/** A container cannot start as things are now. It is tried again: what it lacks may come. */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
