import type { Pod } from "../../api/core.ts";
import type { Stored } from "../../api/meta.ts";

/** What `GET pods/NAME/log` asks; the server has found the Pod and the container, the rest is the kubelet's. */
export interface PodLogRequest {
  readonly pod: Stored<Pod>;
  readonly container: string;
  /** The run before the present one. */
  readonly previous: boolean;
  /** Go on with what is written from now on, until the container has ended for good. */
  readonly follow: boolean;
  /** Begin each line with its time and a space. */
  readonly timestamps: boolean;
  /** Begin so many lines before the end. */
  readonly tailLines: number | undefined;
  /** Leave out what was written before. */
  readonly since: Date | undefined;
  /** End after so many bytes. */
  readonly limitBytes: number | undefined;
}

/** Whoever runs the containers and so has their logs. */
export interface PodLogSource {
  /**
   * The bytes of the answer, in chunks. The signal is aborted when the client leaves.
   *
   * @throws PodLogRefused when there is no such log; from the first `next()`, not later.
   */
  read(request: PodLogRequest, signal: AbortSignal): AsyncIterable<string | Uint8Array>;
}

/** There is no such log; the message says why, as the kubelet does, and goes to the client with status 400. */
export class PodLogRefused extends Error {
  override readonly name = "PodLogRefused";
}
