/** Which part of which log, in the words of `GET /api/v1/namespaces/NS/pods/NAME/log`. */
export interface PodLogRequest {
  readonly namespace: string;
  readonly pod: string;
  /** Absent: the only container of the Pod. */
  readonly container?: string | undefined;
  /** Go on with what is written from now on, until the container ends. */
  readonly follow?: boolean | undefined;
  /** Only so many of the lines that are there. */
  readonly tailLines?: number | undefined;
  /** The run before the present one. */
  readonly previous?: boolean | undefined;
  readonly sinceSeconds?: number | undefined;
  readonly limitBytes?: number | undefined;
  /** Put its time and a space in front of each line. */
  readonly timestamps?: boolean | undefined;
}

/** Where the API server gets the logs of containers from: what a kubelet is to a real one. */
export interface PodLogSource {
  /**
   * @throws StatusError at once, and so before any byte: 404 for a Pod that there is not, 400 for a container that
   *   there is not, that has to be named, or that has no log yet.
   */
  open(request: PodLogRequest, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
