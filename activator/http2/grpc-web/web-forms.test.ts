import { constants, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { WireReader } from "../../../test/http1/wire-reader.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { startEchoServer } from "../../../test/support/grpc/echo-service.ts";
import { startHttp2Sandbox } from "../../../test/support/grpc/http2-sandbox.ts";
import { messageFrame, type WebBody, webBodyOf } from "../../../test/support/grpc/web-frames.ts";
import { answerOf, openHttp2Client, valuesOf } from "../../../test/support/http2-client.ts";
import { dialled, hear, openProxyPath, type ProxyPath, say } from "../../../test/support/proxy-path.ts";
import { seededRandom } from "../../../test/support/seeded-random.ts";

/** The outcome of a call by bytes alone. */
interface Outcome extends WebBody {
  readonly status: number;
  /** The fields of the head, names in lower case. */
  readonly fields: readonly string[];
  /** The response was cut. */
  readonly isCut: boolean;
}

interface Asked {
  readonly type?: string;
  readonly path?: string;
}

type Ask = (path: ProxyPath, body: string, asked?: Asked) => Promise<Outcome>;

const binary = "application/grpc-web+proto";
const text = "application/grpc-web-text+proto";

function headOf({ type = binary, path = "/test.Echo/Unary" }: Asked, framing: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: nova\r\nContent-Type: ${type}\r\nX-Grpc-Web: 1\r\n${framing}\r\n`;
}

function readOutcome(bytes: string, isText: boolean): Outcome {
  const reader = new WireReader("response", { isHead: false, askedUpgrade: false });
  reader.push(Buffer.from(bytes, "latin1"));
  const { messages, isCut } = reader.finish();
  const [answer] = messages;
  const fields = (answer?.fields ?? []).map((part, at) => (at % 2 === 0 ? part.toLowerCase() : part));
  // Of a response that was cut, what came of its chunks.
  const body = answer?.body ?? bytes.slice(bytes.indexOf("\r\n\r\n") + 4).replace(/[0-9a-f]+\r\n|\r\n/g, "");
  return { status: answer?.status ?? 0, fields, isCut, ...webBodyOf(body, isText) };
}

const overHttp1: Ask = async (path, body, asked = {}) => {
  const head = headOf(asked, `Connection: close\r\nContent-Length: ${body.length}\r\n`);
  return readOutcome(await say(path.port, head + body), asked.type === text);
};

const overHttp2: Ask = async (path, body, { type = binary, path: target = "/test.Echo/Unary" } = {}) => {
  using client = openHttp2Client(path.port);
  const head = { ":method": "POST", ":path": target, "content-type": type };
  const { status, fields, body: answer, code, trailers } = await client.ask(head, Buffer.from(body, "latin1"));
  expect(trailers).toEqual([]);
  return { status, fields, isCut: code !== 0, ...webBodyOf(answer, type === text) };
};

const both: readonly (readonly [string, Ask])[] = [
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
];

const hello = messageFrame("hello");
const raw = hello.toString("latin1");
const inText = hello.toString("base64");
const head = { ":status": 200, "content-type": "application/grpc" };

describe.each(both)("a request of gRPC-Web over %s", (_, ask) => {
  it("is answered in its own form, with the trailers as the last frame", async () => {
    await using server = await startEchoServer();
    await using path = await openProxyPath(server.port);
    const plain = await ask(path, raw);
    expect(plain).toMatchObject({ status: 200, messages: ["hello"], isWhole: true, isCut: false });
    expect(plain.trailers).toMatchObject({ "grpc-status": "0", "x-end": "done", "x-end-bin": "AP8H" });
    expect(valuesOf(plain.fields, "content-type")).toEqual([binary]);
    const encoded = await ask(path, inText, { type: text });
    expect(encoded).toMatchObject({ messages: ["hello"], isWhole: true, isCut: false });
    expect(valuesOf(encoded.fields, "content-type")).toEqual([text]);
    expect(path.ends.map(({ grpcStatus }) => grpcStatus)).toEqual(["0", "0"]);
  });

  it("may be in base64 that was encoded piece by piece", async () => {
    await using server = await startEchoServer();
    await using path = await openProxyPath(server.port);
    for (let at = 1; at < hello.length; at += 1) {
      const pieces = hello.subarray(0, at).toString("base64") + hello.subarray(at).toString("base64");
      expect(await ask(path, pieces, { type: text })).toMatchObject({ messages: ["hello"], isWhole: true });
    }
  });

  it("ends with INVALID_ARGUMENT if it is malformed, and never looks complete to its sandbox", async () => {
    let ended = 0;
    await using sandbox = await startHttp2Sandbox((stream) => {
      stream.on("data", () => {}).on("end", () => (ended += stream.aborted ? 0 : 1));
    });
    await using path = await openProxyPath(sandbox.port);
    const bodies: readonly (readonly [string, string, string])[] = [
      ["AAAA*", text, "its body is not base64"],
      [inText.slice(0, -1), text, "its base64 breaks off"],
      [raw.slice(0, -1), binary, "its last message breaks off"],
      [hello.subarray(0, 6).toString("base64"), text, "its last message breaks off"],
      [messageFrame("grpc-status: 0", 0x80).toString("latin1"), binary, "a message begins with an unknown flag"],
    ];
    for (const [body, type, because] of bodies) {
      const { status, trailers } = await ask(path, body, { type });
      const said = { "grpc-status": "3", "grpc-message": `Malformed request: ${because}` };
      expect([status, trailers]).toEqual([200, said]);
    }
    expect(path.refusals).toEqual(bodies.map(() => "MalformedRequest"));
    expect(path.ends.map(({ grpcStatus }) => grpcStatus)).toEqual(bodies.map(() => "3"));
    expect(ended).toBe(0);
  });

  it("ends with RESOURCE_EXHAUSTED if its body is too large", async () => {
    await using server = await startEchoServer();
    await using path = await openProxyPath(server.port, { maxRequestBodyBytes: 100 });
    const { trailers } = await ask(path, messageFrame("x".repeat(200)).toString("latin1"));
    expect(trailers).toEqual({ "grpc-status": "8", "grpc-message": "Request body too large." });
  });
});

/** The outcome of one call over each protocol, to a sandbox that treats its stream like that. */
async function outcomesFrom(answer: (stream: ServerHttp2Stream) => void, asked: Asked = {}): Promise<Outcome[]> {
  await using sandbox = await startHttp2Sandbox(answer);
  await using path = await openProxyPath(sandbox.port);
  const body = asked.type === text ? inText : raw;
  const outcomes = [await overHttp1(path, body, asked), await overHttp2(path, body, asked)];
  await path.empty();
  return outcomes;
}

describe("the answer of a sandbox to a call of gRPC-Web", () => {
  it("keeps its status if it is a head alone", async () => {
    const outcomes = await outcomesFrom((stream) => {
      stream.respond({ ...head, "grpc-status": "5", "grpc-message": "none", "x-a": "b" }, { endStream: true });
    });
    for (const { fields, trailers, isCut } of outcomes) {
      expect(trailers).toMatchObject({ "grpc-status": "5", "grpc-message": "none", "x-a": "b" });
      expect([valuesOf(fields, "grpc-status"), valuesOf(fields, "x-a"), isCut]).toEqual([[], ["b"], false]);
    }
  });

  it("is cut if it ends within a message, because trailers would be read as a part of it", async () => {
    const breaks: readonly ((stream: ServerHttp2Stream) => void)[] = [
      (stream) => stream.write(raw.slice(0, 7), "latin1", () => stream.session?.destroy()),
      (stream) => stream.write(raw.slice(0, 3), "latin1", () => stream.close(constants.NGHTTP2_CANCEL)),
      (stream) => stream.end(raw.slice(0, 7), "latin1"),
      (stream) => stream.write(messageFrame("grpc-status: 0\r\n", 0x80)),
    ];
    for (const breakOff of breaks) {
      for (const type of [binary, text]) {
        const outcomes = await outcomesFrom(
          (stream) => {
            stream.respond(head, { waitForTrailers: true });
            stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
            breakOff(stream);
          },
          { type },
        );
        for (const { isCut, trailers } of outcomes) expect([isCut, trailers]).toEqual([true, undefined]);
      }
    }
  });

  it("ends with UNAVAILABLE if its connection is lost between messages", async () => {
    for (const type of [binary, text]) {
      const outcomes = await outcomesFrom(
        (stream) => {
          stream.respond(head);
          stream.write(hello, () => stream.session?.destroy());
        },
        { type },
      );
      for (const { messages, trailers, isCut } of outcomes) {
        expect([messages, trailers?.["grpc-status"], isCut]).toEqual([["hello"], "14", false]);
      }
    }
  });

  it("never ends with OK if it has no status", async () => {
    const outcomes = await outcomesFrom((stream) => {
      stream.respond(head);
      stream.end(hello);
    });
    for (const { trailers } of outcomes) expect(trailers?.["grpc-status"]).toBe("2");
  });

  it("is read by its HTTP status if it is none of gRPC", async () => {
    for (const [status, code] of [
      [404, "12"],
      [503, "14"],
      [200, "2"],
    ] as const) {
      const outcomes = await outcomesFrom((stream) => {
        stream.respond({ ":status": status, "content-type": "text/html", "content-encoding": "gzip" });
        stream.end("<h1>a page</h1>");
      });
      for (const { status: seen, trailers, messages, fields } of outcomes) {
        expect([seen, trailers?.["grpc-status"], messages]).toEqual([200, code, []]);
        expect(valuesOf(fields, "content-encoding")).toEqual([]);
      }
    }
  });

  it("is UNAVAILABLE if it refused the stream: a page must not send a call twice", async () => {
    const outcomes = await outcomesFrom((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
    for (const { trailers, isCut } of outcomes) expect([trailers?.["grpc-status"], isCut]).toEqual(["14", false]);
  });

  it("writes no line of a status that a sandbox did not send as one", async () => {
    const outcomes = await outcomesFrom((stream) => {
      stream.respond(head, { waitForTrailers: true });
      stream.on("wantTrailers", () =>
        stream.sendTrailers({ "grpc-message": "a: b; grpc-status: 0", "grpc-status": "7" }),
      );
      stream.end();
    });
    for (const { trailers } of outcomes) expect(trailers?.["grpc-status"]).toBe("7");
  });
});

describe("a connection of HTTP/1.1 with calls of gRPC-Web", () => {
  it("carries one call after the other, wherever their bytes are split", async () => {
    await using server = await startEchoServer();
    await using path = await openProxyPath(server.port);
    const random = seededRandom(3);
    const chunks = (body: string) => {
      let framed = "";
      for (let at = 0; at < body.length; ) {
        const part = body.slice(at, at + 1 + random.below(9));
        framed += `${part.length.toString(16)}\r\n${part}\r\n`;
        at += part.length;
      }
      return `${framed}0\r\n\r\n`;
    };
    for (let round = 0; round < 40; round += 1) {
      const socket = await dialled(path.port);
      const heard = hear(socket);
      const calls = Array.from({ length: 1 + random.below(4) }, (_, at) => {
        const type = random.oneOf([binary, text]);
        const message = messageFrame(`n${at}`);
        const body = message.toString(type === text ? "base64" : "latin1");
        const isChunked = random.below(2) === 0;
        const framing = isChunked ? "Transfer-Encoding: chunked\r\n" : `Content-Length: ${body.length}\r\n`;
        return { type, bytes: headOf({ type }, framing) + (isChunked ? chunks(body) : body) };
      });
      const bytes = calls.map((call) => call.bytes).join("");
      for (let at = 0; at < bytes.length; ) {
        const next = at + 1 + random.below(200);
        await new Promise((resolve) => socket.write(bytes.slice(at, next), "latin1", resolve));
        at = next;
      }
      await eventually(() => path.ends.length === calls.length);
      socket.end();
      const reader = new WireReader("response", { isHead: false, askedUpgrade: false });
      reader.push(Buffer.from(await heard, "latin1"));
      const bodies = reader.messages.map(({ body }, at) => webBodyOf(body, calls[at]?.type === text));
      expect(bodies.map(({ messages }) => messages)).toEqual(calls.map((_, at) => [`n${at}`]));
      (path.ends as unknown[]).length = 0;
    }
  });

  it("brings each message in base64 as it comes", async () => {
    let stream: ServerHttp2Stream | undefined;
    await using sandbox = await startHttp2Sandbox((opened) => {
      opened.respond(head);
      stream = opened;
    });
    await using path = await openProxyPath(sandbox.port);
    const socket = await dialled(path.port);
    let heard = "";
    socket.on("data", (bytes: Buffer) => (heard += bytes.toString("latin1")));
    socket.write(headOf({ type: text }, `Content-Length: ${inText.length}\r\n`) + inText);
    for (let count = 1; count <= 5; count += 1) {
      await eventually(() => stream !== undefined);
      stream?.write(messageFrame("m".repeat(count)));
      const seen = () => heard.slice(heard.indexOf("\r\n\r\n") + 4).replace(/(^|\r\n)[0-9a-f]+\r\n/g, "");
      await eventually(() => webBodyOf(seen(), true).messages.length === count);
    }
    socket.destroy();
    await path.empty();
  });

  it("ends with the response of a client of HTTP/1.0, and resets one that breaks off", async () => {
    let isBroken = false;
    await using sandbox = await startHttp2Sandbox((stream) => {
      stream.respond(head, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      if (isBroken) stream.write(raw.slice(0, 8), "latin1", () => stream.session?.destroy());
      else stream.end(hello);
    });
    await using path = await openProxyPath(sandbox.port);
    const asked = headOf({}, `Content-Length: ${raw.length}\r\n`).replace("HTTP/1.1", "HTTP/1.0") + raw;
    const whole = await say(path.port, asked);
    const body = whole.slice(whole.indexOf("\r\n\r\n") + 4);
    expect(whole).not.toMatch(/chunked/i);
    expect(webBodyOf(body)).toEqual({ messages: ["hello"], trailers: { "grpc-status": "0" }, isWhole: true });
    isBroken = true;
    expect(await wasReset(await dialled(path.port), asked)).toBe(true);
  });

  it("serves the next request although the sandbox answered before it had the whole first one", async () => {
    await using sandbox = await startHttp2Sandbox((stream) => {
      stream.respond({ ...head, "grpc-status": "16" }, { endStream: true });
    });
    await using path = await openProxyPath(sandbox.port);
    const socket = await dialled(path.port);
    const heard = hear(socket);
    const body = messageFrame("x".repeat(100_000)).toString("latin1");
    const asked = headOf({}, `Content-Length: ${body.length}\r\n`);
    socket.write(asked + body.slice(0, 1_000), "latin1");
    await eventually(() => path.sockets !== undefined && socket.bytesRead > 0);
    socket.write(body.slice(1_000), "latin1");
    socket.write(headOf({}, `Connection: close\r\nContent-Length: ${raw.length}\r\n`) + raw, "latin1");
    const reader = new WireReader("response", { isHead: false, askedUpgrade: false });
    reader.push(Buffer.from(await heard, "latin1"));
    const statuses = reader.messages.map((message) => webBodyOf(message.body).trailers?.["grpc-status"]);
    expect(statuses).toEqual(["16", "16"]);
    await path.empty();
  });

  it("ends with INVALID_ARGUMENT in the form of the call if its chunks are malformed", async () => {
    await using server = await startEchoServer();
    await using path = await openProxyPath(server.port);
    const said = await say(path.port, `${headOf({}, "Transfer-Encoding: chunked\r\n")}5\r\n\0\0\0\0\0\r\nxyz\r\n`);
    expect(said).toMatch(/^HTTP\/1\.1 200 /);
    const because = "Malformed request: chunk size invalid";
    expect(readOutcome(said, false).trailers).toEqual({ "grpc-status": "3", "grpc-message": because });
    await path.empty();
  });

  it("gets 100 Continue before the body that its client holds back", async () => {
    await using server = await startEchoServer();
    await using path = await openProxyPath(server.port);
    const socket = await dialled(path.port);
    const heard = hear(socket);
    socket.write(headOf({}, `Expect: 100-continue\r\nConnection: close\r\nContent-Length: ${raw.length}\r\n`));
    await new Promise<void>((resolve) => socket.once("data", () => resolve()));
    socket.write(raw, "latin1");
    expect(await heard).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });
});

it("a call of gRPC-Web over HTTP/2 gets 100 Continue before the body that its client holds back", async () => {
  await using server = await startEchoServer();
  await using path = await openProxyPath(server.port);
  using client = openHttp2Client(path.port);
  const asked = { ":method": "POST", ":path": "/test.Echo/Unary", "content-type": binary, expect: "100-continue" };
  const stream = client.open(asked);
  const outcome = answerOf(stream);
  stream.once("continue", () => stream.end(hello));
  const { body, interim } = await outcome;
  expect([webBodyOf(body).messages, interim]).toEqual([["hello"], [100]]);
});

function wasReset(socket: Socket, asked: string): Promise<boolean> {
  let code: string | undefined;
  socket.on("error", (error: NodeJS.ErrnoException) => {
    code = error.code;
  });
  socket.resume().write(asked, "latin1");
  return new Promise((resolve) => socket.once("close", () => resolve(code === "ECONNRESET")));
}
