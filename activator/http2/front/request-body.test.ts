import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import { expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { openHttp2Client } from "../../../test/support/http2-client.ts";
import { StreamBody } from "./request-body.ts";

/** The body of a request that is not ended, and whether its end was told. */
async function openBody(stack: AsyncDisposableStack) {
  const server = createServer().listen(0, "127.0.0.1");
  stack.defer(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  const client = stack.use(openHttp2Client(typeof address === "object" && address ? address.port : 0));
  const request = client.open({ ":method": "POST" });
  request.write("all of it");
  const stream = await new Promise<ServerHttp2Stream>((resolve) => server.once("stream", resolve));
  stream.on("error", () => {});
  const body = new StreamBody(stream, false, () => {});
  let [received, isEnded] = ["", false];
  body.begin({ contentLength: -1, onSpoilt: () => {} });
  body.pourInto({
    wantsBody: true,
    bodyBytes(bytes) {
      received += bytes.toString();
    },
    bodyEnded() {
      isEnded = true;
    },
  });
  return { stream, body, told: () => ({ received, isEnded }) };
}

it("a body whose stream closes in the same turn as it ends is complete", async () => {
  await using stack = new AsyncDisposableStack();
  const { stream, body, told } = await openBody(stack);
  stream.respond();
  stream.end();
  stream.push(null); // Node does so for the last frame,
  stream.close(); // and without a turn in between for a stream that both sides have ended
  stream.push(null);
  await eventually(() => told().isEnded);
  expect(body.complete).toBe(true);
  expect(told().received).toBe("all of it");
});

it("a body whose stream is reset without an error before its end is not complete", async () => {
  await using stack = new AsyncDisposableStack();
  const { stream, body, told } = await openBody(stack);
  stream.close();
  stream.push(null);
  await once(stream, "close");
  expect(body.complete).toBe(false);
  expect(told().isEnded).toBe(false);
});
