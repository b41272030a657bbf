/** Why a container does not start: the kubelet's reasons where they exist. */
export type RefusalReason = "CreateContainerConfigError" | "CreateContainerError" | "ContainerCreating";

/** A container cannot start now. The start is retried, since the missing object may be created. */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
