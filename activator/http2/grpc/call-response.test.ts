import { once } from "node:events";
import { createServer } from "node:http2";
import { expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { openHttp2Client } from "../../../test/support/http2-client.ts";
import { CallResponse, type ResponseSink } from "./call-response.ts";

/** A response that is not ended, and whether its end was told. */
async function openResponse(stack: AsyncDisposableStack) {
  const server = createServer((_, response) => response.write("all of it")).listen(0, "127.0.0.1");
  stack.defer(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  const client = stack.use(openHttp2Client(typeof address === "object" && address ? address.port : 0));
  const stream = client.open();
  let [received, isEnded] = ["", false];
  const sink: ResponseSink = {
    wantsResponse: true,
    responseBytes(bytes) {
      received += bytes.toString();
    },
    responseKept() {},
    responseArrived() {},
    responseEnded() {
      isEnded = true;
    },
  };
  const session = { counted() {}, headCounted() {} };
  const response = new CallResponse(stream, sink, session, () => {});
  await once(stream, "response");
  return { stream, response, told: () => ({ received, isEnded }) };
}

it("a response whose stream closes in the same turn as it ends is complete", async () => {
  await using stack = new AsyncDisposableStack();
  const { stream, response, told } = await openResponse(stack);
  stream.end();
  stream.push(null); // Node does so for the last frame,
  stream.close(); // and without a turn in between for a stream that both sides have ended
  stream.push(null);
  await eventually(() => told().isEnded);
  expect(response.hasEnded).toBe(true);
  expect(told().received).toBe("all of it");
});

it("a response whose stream is reset without an error before its end is not complete", async () => {
  await using stack = new AsyncDisposableStack();
  const { stream, response, told } = await openResponse(stack);
  stream.close();
  stream.push(null);
  await once(stream, "close");
  expect(response.hasEnded).toBe(false);
  expect(told().isEnded).toBe(false);
});
