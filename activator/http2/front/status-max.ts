/** The highest status that Node's HTTP/2 sends. Both versions of HTTP allow any three digits. */
export const statusMax = 599;

/** Why the response of a sandbox with such a status is refused. */
export const uncarried = (status: number): string =>
  `the sandbox answered with the status ${status}, which the activator cannot send over HTTP/2`;
