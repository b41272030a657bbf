/** HTTP/1.1 has higher ones, which Node's HTTP/2 refuses to send. */
export const statusMax = 599;

/** Why the response of a sandbox with such a status is refused. */
export const uncarried = (status: number): string =>
  `the sandbox answered with the status ${status}, which HTTP/2 cannot carry`;
