/**
 * The program in the sandboxes of these tests, in an image with only Node. It answers with an id of its process and its number of
 * requests after `?after=MS` milliseconds. It listens `LISTEN_AFTER_MS` after its start, and finishes open requests
 * on SIGTERM.
 */
export const program = `
const { createServer } = require("node:http");
const { hostname } = require("node:os");
const boot = crypto.randomUUID();
let asked = 0;
const server = createServer((request, response) => {
  const answer = JSON.stringify({ pod: hostname(), boot, asked: ++asked });
  const afterMs = Number(new URL(request.url, "http://any").searchParams.get("after") ?? 0);
  request.resume();
  setTimeout(() => response.end(answer), afterMs);
});
server.keepAliveTimeout = 60_000;
setTimeout(() => server.listen(8888), Number(process.env.LISTEN_AFTER_MS ?? 0));
process.on("SIGTERM", () => {
  server.close(() => process.exit(0));
  setInterval(() => server.closeIdleConnections(), 50);
});
`;

/** The response of the program. */
export interface ProgramAnswer {
  readonly pod: string;
  /** Differs for each process. */
  readonly boot: string;
  readonly asked: number;
}
