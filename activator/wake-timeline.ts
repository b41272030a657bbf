/** When the steps of a wake happened, in milliseconds since the request that woke was seen. Undefined: not seen. */
export interface WakeTimeline {
  readonly seen: 0;
  readonly wakePatched: number | undefined;
  readonly podCreated: number | undefined;
  readonly portAccepted: number | undefined;
  readonly firstByte: number | undefined;
}
