/** Methods with a label of their own; all others are `other`. */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Statuses of the IANA registry (HTTP Status Code Registry, 2025), and 499, ours for a client that left. */
const statuses: ReadonlySet<number> = new Set([
  ...[100, 101, 102, 103, 200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 300, 301, 302, 303, 304, 305, 307, 308],
  ...[400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 423, 424],
  ...[425, 426, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511],
]);

export const methodLabel = (method: string): string => (methods.has(method) ? method : "other");

export const isRegistered = (status: number): boolean => statuses.has(status);

/** The class of a status, such as `5xx`; `other` where it has none. */
export const statusClass = (status: number): string =>
  status >= 100 && status < 600 ? `${Math.floor(status / 100)}xx` : "other";
