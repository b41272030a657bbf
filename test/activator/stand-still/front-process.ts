// A front and a proxy with short limits, in front of the back-end whose port is the first argument. At a message this process stops
// itself within a callback, as a long collection of garbage would: what comes meanwhile is read after the timers that are due.
import { openProxyPath } from "../../support/proxy-path.ts";

const limitMs = 2_500;
const path = await openProxyPath(Number(process.argv[2]), { headersTimeoutMs: limitMs, totalMs: limitMs });
const tell = () => process.send?.({ port: path.port, opened: path.connections.opened });
process.on("disconnect", () => process.exit());
process.on("message", (what) => {
  tell();
  if (what === "stop") process.kill(process.pid, "SIGSTOP");
});
tell();
