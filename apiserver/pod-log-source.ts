import type { Pod } from "../api/kinds/core.ts";
import type { Stored } from "../api/kinds/meta.ts";

/** A request of `GET pods/NAME/log`. The server has found the Pod and the container; the kubelet does the rest. */
export interface PodLogRequest {
  readonly pod: Stored<Pod>;
  readonly container: string;
  /** The run before the current one. */
  readonly previous: boolean;
  /** Continue with later output until the container has ended for good. */
  readonly follow: boolean;
  /** Prefix each line with its time and a space. */
  readonly timestamps: boolean;
  /** Start this many lines before the end. */
  readonly tailLines: number | undefined;
  /** Omit earlier lines. */
  readonly since: Date | undefined;
  /** End after this many bytes. */
  readonly limitBytes: number | undefined;
}

/** The source of containers' logs: the kubelet of local mode. */
export interface PodLogSource {
  /**
   * The bytes of the response, in chunks. The signal is aborted when the client disconnects.
   *
   * @throws PodLogRefused if the log does not exist; only from the first `next()`.
   */
  read(request: PodLogRequest, signal: AbortSignal): AsyncIterable<string | Uint8Array>;
}

/** The log does not exist. The message has the kubelet's reason, and is sent to the client with status 400. */
export class PodLogRefused extends Error {
  override readonly name = "PodLogRefused";
}
