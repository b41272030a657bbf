import { once } from "node:events";
import { connect, createServer } from "node:http2";
import { expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { ControlFrames } from "./control-frames.ts";

it("an ORIGIN frame without TLS is counted, and its origins are not kept", async () => {
  const server = createServer().on("session", (session) => session.origin("https://one.test", "https://two.test"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  const session = connect(`http://127.0.0.1:${address.port}`);
  await once(session, "connect");
  let counted = 0;
  new ControlFrames({ atOnce: 1, perStep: 1 }).watch(session, () => {
    counted += 1;
  });
  session.removeAllListeners("remoteSettings"); // they are counted, too
  await eventually(() => counted > 0);
  expect([session.encrypted, session.originSet]).toEqual([false, undefined]);
  session.destroy();
  server.close();
});
