import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { startEchoServer } from "../../../test/support/grpc/echo-service.ts";
import { byteOf, openFrameSandbox } from "../../../test/support/grpc/frame-sandbox.ts";
import { answerOf, openHttp2Client, valuesOf } from "../../../test/support/http2-client.ts";
import { flag, headersOf } from "../../../test/support/http2-frames.ts";
import { openProxyPath } from "../../../test/support/proxy-path.ts";

const call = { ":method": "POST", "content-type": "application/grpc", te: "trailers" };
const ending = headersOf(1, [["grpc-status", "5"]]);

/** The status of the call, as its client sees it, and the codes of errors. */
async function statusOf(...response: readonly Buffer[]) {
  await using sandbox = await openFrameSandbox();
  await using path = await openProxyPath(sandbox.port);
  using client = openHttp2Client(path.port);
  const answer = answerOf(client.open(call));
  await eventually(() => sandbox.calls === 1);
  sandbox.send(...response);
  const { fields, trailers } = await answer;
  return { status: valuesOf([...fields, ...trailers], "grpc-status").join(), refusals: path.refusals };
}

describe("a response to a call of gRPC", () => {
  it.each(["600", "999", "099"])(
    "with the status %s, which the activator cannot send, is UNAVAILABLE",
    async (status) => {
      expect(await statusOf(headersOf(1, [[":status", status]]))).toEqual({ status: "14", refusals: ["ResponseLost"] });
    },
  );

  it.each(["204", "205", "304"])("with the status %s and data behind it is UNAVAILABLE", async (status) => {
    const head = headersOf(1, [[":status", status]], flag.endHeaders);
    expect(await statusOf(head, byteOf(1), ending)).toEqual({ status: "14", refusals: ["ResponseLost"] });
  });

  it("with the status 204 and nothing behind it says how the call ended", async () => {
    const head = [
      [":status", "204"],
      ["grpc-status", "5"],
    ] as const;
    expect(await statusOf(headersOf(1, head))).toEqual({ status: "5", refusals: [] });
  });
});

describe("a call whose time is over before it begins", () => {
  it("leaves its connection among the idle ones, whose limits hold", async () => {
    await using server = await startEchoServer();
    await using path = await openProxyPath(server.port, { maxIdleUpstream: 0 });
    using client = openHttp2Client(path.port);
    const answer = await answerOf(client.open({ ...call, "grpc-timeout": "1n" }));
    expect(valuesOf([...answer.fields, ...answer.trailers], "grpc-status")).toEqual(["4"]);
    await eventually(() => path.sessions === 0);
  });
});
