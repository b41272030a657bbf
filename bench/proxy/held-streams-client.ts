// A process of its own, on the core of the load: `COUNT closed|silent PORT`. Holds requests over HTTP/2, as `raw-client.ts` does over
// HTTP/1.1.
import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { HeldBackend } from "./held-backend.ts";
import { hostOf, ports } from "./ports.ts";

/** haproxy accepts as many by default. The activator accepts more. */
const streamsEach = 100;
const [count = "100", port = "closed", proxy = ""] = process.argv.slice(2);
const backend = new HeldBackend();
if (port === "silent") await backend.listen();

const sessions: ClientHttp2Session[] = [];
for (let opened = 0; opened < Number(count); opened += streamsEach) {
  const session = connect(`http://127.0.0.1:${proxy}`);
  session.on("error", () => {});
  await once(session, "remoteSettings");
  sessions.push(session);
}
const all = Promise.withResolvers<void>();
let [answered, good] = [0, 0];
for (let sent = 0; sent < Number(count); sent += 1) {
  const session = sessions[Math.floor(sent / streamsEach)];
  const stream = session?.request({ ":path": "/held", ":authority": hostOf(ports.held) });
  stream?.on("response", ({ ":status": status }) => {
    if (status === 200) good += 1;
  });
  stream?.on("error", () => {}).resume();
  stream?.once("close", () => {
    answered += 1;
    if (answered === Number(count)) all.resolve();
  });
}
process.stdout.write("held\n");
await once(process.stdin, "data");
const beganMs = performance.now();
if (port === "closed") void backend.listen();
backend.answer();
await all.promise;
process.stdout.write(
  `${JSON.stringify({ answered, good, connections: backend.connections, releasedMs: performance.now() - beganMs })}\n`,
);
process.exit(0);
