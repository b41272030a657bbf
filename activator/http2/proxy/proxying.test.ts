import { once } from "node:events";
import { constants } from "node:http2";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { WireReader } from "../../../test/http1/wire-reader.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { answerOf, openHttp2Client, valuesOf } from "../../../test/support/http2-client.ts";
import {
  codeOf,
  endsStream,
  fieldsOf,
  flag,
  frame,
  frameOf,
  headersOf,
  openFrameClient,
} from "../../../test/support/http2-frames.ts";
import {
  type Backend,
  openBackend,
  openProxyPath,
  openStrictBackend,
  type ProxyPath,
} from "../../../test/support/proxy-path.ts";

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Seen: yes\r\n\r\nhello";

/** A back-end that answers each connection's first head at once with that text, and shows what it got. */
async function openSayer(answer: string, seen: string[] = [], then?: (socket: Socket) => void): Promise<Backend> {
  return openBackend((socket) => {
    let heard = "";
    socket.on("data", (bytes: Buffer) => {
      const isFirst = heard === "";
      heard += bytes.toString("latin1");
      seen[0] = heard;
      if (isFirst) socket.write(answer, "latin1", () => then?.(socket));
    });
    socket.on("end", () => socket.end());
  });
}

async function withClient<T>(
  backend: Backend,
  use: (client: ReturnType<typeof openHttp2Client>, proxyPath: ProxyPath) => Promise<T>,
  options: Parameters<typeof openProxyPath>[1] = {},
): Promise<T> {
  await using proxyPath = await openProxyPath(backend.port, options);
  try {
    using client = openHttp2Client(proxyPath.port);
    return await use(client, proxyPath);
  } finally {
    await proxyPath.empty();
  }
}

describe("a request of HTTP/2", () => {
  it("is answered by a sandbox that speaks HTTP/1.1, on the port of HTTP/1.1", async () => {
    await using backend = await openStrictBackend(ok);
    await withClient(backend, async (client, proxyPath) => {
      const answers = await Promise.all([client.ask(), client.ask({ ":path": "/two?x=%2F" }), client.ask({}, "body")]);
      for (const { status, body, fields, code } of answers) {
        expect({ status, body, code }).toEqual({ status: 200, body: "hello", code: 0 });
        expect(valuesOf(fields, "x-seen")).toEqual(["yes"]);
        expect(valuesOf(fields, "date")).toEqual([]);
      }
      await eventually(() => proxyPath.ends.length === 3);
      expect(proxyPath.ends).toEqual(Array.from({ length: 3 }, () => ({ status: 200, bytesOut: 5 })));
    });
  });

  it("reaches the sandbox as one of HTTP/1.1, with its fields, trailers and one cookie", async () => {
    const seen: string[] = [];
    await using backend = await openSayer(ok, seen);
    await withClient(backend, async (client) => {
      const stream = client.open({
        ...{ ":method": "POST", ":path": "/up?a=1", ":authority": "nova.test", te: "trailers", "x-byte": "\xe9" },
        cookie: ["a=1", "b=2; c=3"],
        trailer: "x-sum",
      });
      stream.once("wantTrailers", () => stream.sendTrailers({ "x-sum": "7" }));
      stream.end("data");
      expect((await answerOf(stream)).body).toBe("hello");
    });
    const [head = "", body] = seen[0]?.split("\r\n\r\n", 2) ?? [];
    expect(head.split("\r\n").sort()).toEqual(
      [
        ...["POST /up?a=1 HTTP/1.1", "Host: nova.test", "cookie: a=1; b=2; c=3", "x-byte: \xe9", "trailer: x-sum"],
        ...["X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: nova.test", "X-Forwarded-Proto: http", "TE: trailers"],
        ...["Transfer-Encoding: chunked", "Connection: keep-alive"],
      ].sort(),
    );
    expect(body).toBe("4\r\ndata\r\n0");
  });

  it("is no WebSocket because a value reads like the field of one", async () => {
    const seen: string[] = [];
    await using backend = await openSayer(ok, seen);
    await withClient(backend, async (client) => {
      expect(await client.ask({ "x-named": ":protocol", "x-other": ":method" })).toMatchObject({ status: 200 });
    });
    expect(seen[0]).toMatch(/\r\nx-named: :protocol\r\n/);
  });

  it("sends trailers to the sandbox behind its body", async () => {
    const reader = new WireReader("request");
    await using backend = await openBackend((socket) => {
      socket.on("data", (bytes: Buffer) => {
        reader.push(bytes);
        if (reader.messages.length > 0) socket.end(ok);
      });
    });
    await withClient(backend, async (client) => {
      const session = client.session;
      const stream = session.request({ ":method": "POST", ":path": "/" }, { waitForTrailers: true });
      stream.once("wantTrailers", () => stream.sendTrailers({ "x-sum": "7", "x-more": ["1", "2"] }));
      stream.end("data");
      expect((await answerOf(stream)).status).toBe(200);
    });
    expect(reader.messages[0]?.body).toBe("data");
    expect(reader.messages[0]?.trailers).toEqual(["x-sum", "7", "x-more", "1", "x-more", "2"]);
  });

  it("uses connections to the sandbox that earlier requests left", async () => {
    let connections = 0;
    await using backend = await openBackend((socket) => {
      connections += 1;
      socket.on("data", () => socket.write(ok));
    });
    await withClient(backend, async (client) => {
      for (let at = 0; at < 5; at += 1) expect((await client.ask()).body).toBe("hello");
    });
    expect(connections).toBe(1);
  });

  it("with an expectation gets 100 once the sandbox is connected", async () => {
    await using backend = await openStrictBackend(ok);
    await withClient(backend, async (client) => {
      const stream = client.open({ ":method": "POST", expect: "100-continue" });
      const answer = answerOf(stream);
      await once(stream, "continue");
      stream.end("data");
      expect(await answer).toMatchObject({ status: 200, body: "hello" });
    });
  });

  it("is rejected when its body is larger than allowed", async () => {
    await using backend = await openSayer("");
    await withClient(
      backend,
      async (client) => {
        const answer = await client.ask({ ":method": "POST" }, Buffer.alloc(20_000));
        expect(answer).toMatchObject({ status: 413, code: 0 });
      },
      { maxRequestBodyBytes: 10_000 },
    );
  });

  it("is rejected with 431 when its fields are larger than allowed, and with 414 when its target is", async () => {
    await using backend = await openSayer(ok);
    await withClient(
      backend,
      async (client) => {
        expect(await client.ask({ "x-large": "x".repeat(9_000) })).toMatchObject({ status: 431 });
        expect(await client.ask({ "x-large": "x".repeat(12_000) })).toMatchObject({ status: 431 });
        expect(await client.ask({ ":method": "HEAD", "x-large": "x".repeat(9_000) })).toMatchObject({ status: 431 });
        expect(await client.ask()).toMatchObject({ status: 200 });
      },
      { maxHeaderBytes: 8_192 },
    );
    await withClient(backend, async (client) => {
      expect(await client.ask({ ":path": `/${"x".repeat(17_000)}` })).toMatchObject({ status: 414 });
      const many = (length: number) => Object.fromEntries(Array.from({ length }, (_, at) => [`x-${at}`, "1"]));
      expect(await client.ask(many(500))).toMatchObject({ status: 431 });
      expect(await client.ask(many(600))).toMatchObject({ status: 0, code: constants.NGHTTP2_ENHANCE_YOUR_CALM });
      expect(await client.ask()).toMatchObject({ status: 200 });
    });
  });
});

describe("a response to HTTP/2", () => {
  const cases = [
    { name: "of known length", answer: ok, status: 200, body: "hello" },
    {
      name: "in chunks",
      answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n",
      status: 200,
      body: "hello!",
    },
    { name: "of an error", answer: "HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno", status: 500, body: "no" },
    { name: "without content", answer: "HTTP/1.1 204 None\r\n\r\n", status: 204, body: "" },
    { name: "of no change", answer: "HTTP/1.1 304 Same\r\nETag: x\r\n\r\n", status: 304, body: "" },
    { name: "that resets content", answer: "HTTP/1.1 205 Reset\r\nContent-Length: 2\r\n\r\nno", status: 205, body: "" },
    { name: "without a body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", status: 200, body: "" },
  ];
  it.each(cases)("$name is complete", async ({ answer, status, body }) => {
    await using backend = await openSayer(answer);
    await withClient(backend, async (client) => {
      expect(await client.ask()).toMatchObject({ status, body, code: 0 });
    });
  });

  it("without a length ends with the sandbox's connection", async () => {
    await using backend = await openSayer("HTTP/1.1 200 OK\r\n\r\nhello", [], (socket) => socket.end(" there"));
    await withClient(backend, async (client) => {
      expect(await client.ask()).toMatchObject({ status: 200, body: "hello there", code: 0 });
    });
  });

  it("to HEAD has the fields and no body", async () => {
    await using backend = await openSayer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    await withClient(backend, async (client) => {
      const answer = await client.ask({ ":method": "HEAD" });
      expect(answer).toMatchObject({ status: 200, body: "", code: 0 });
      expect(valuesOf(answer.fields, "content-length")).toEqual(["5"]);
    });
  });

  it.each([
    { name: "known length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello" },
    { name: "chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n" },
  ])("that ends short of its $name is reset, never complete", async ({ answer }) => {
    await using backend = await openSayer(answer, [], (socket) => socket.end());
    await withClient(backend, async (client) => {
      const { status, code } = await client.ask();
      expect([status, code]).toEqual([200, 2]);
    });
  });

  it("has the fields of the sandbox, as large as HTTP/1.1 allows", async () => {
    const large = Array.from({ length: 20 }, (_, at) => [`x-${at}`, "~".repeat(3_260)] as const);
    const lines = large.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    await using backend = await openSayer(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${lines}\r\nok`);
    await using proxyPath = await openProxyPath(backend.port);
    {
      using client = openHttp2Client(proxyPath.port, { settings: { maxHeaderListSize: 200_000 } });
      await once(client.session, "localSettings");
      const { status, body, fields } = await client.ask();
      expect({ status, body, x: valuesOf(fields, "x-19") }).toEqual({
        status: 200,
        body: "ok",
        x: ["~".repeat(3_260)],
      });
    }
    await proxyPath.empty();
  });

  it("has the trailers of the sandbox", async () => {
    const chunks = "2\r\nhi\r\n0\r\nX-Sum: 7\r\nX-Sum: 8\r\nGrpc-Status: 0\r\n\r\n";
    await using backend = await openSayer(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`);
    await withClient(backend, async (client) => {
      const { body, trailers, code } = await client.ask({ te: "trailers" });
      expect({ body, trailers, code }).toEqual({
        body: "hi",
        trailers: ["x-sum", "7", "x-sum", "8", "grpc-status", "0"],
        code: 0,
      });
    });
  });

  it("has no fields of the sandbox's connection, and single ones once", async () => {
    const lines = [
      ...["Connection: close, X-Hop", "Keep-Alive: timeout=5", "X-Hop: 1", "Proxy-Connection: x", "Upgrade: h2c"],
      ...[
        "ETag: a",
        "ETag: b",
        "Set-Cookie: a",
        "Set-Cookie: b",
        "X-Two: 1",
        "x-two: 2",
        "Location: /a",
        "Location: /b",
      ],
      ...["Content-Length: 2"],
    ];
    await using backend = await openSayer(`HTTP/1.1 200 OK\r\n${lines.join("\r\n")}\r\n\r\nhi`);
    await withClient(backend, async (client) => {
      const { fields, body } = await client.ask();
      expect(body).toBe("hi");
      expect(fields.filter((field) => field !== "date")).toEqual([
        ...["etag", "a", "set-cookie", "a", "set-cookie", "b", "x-two", "1", "x-two", "2", "location", "/a"],
        ...["content-length", "2"],
      ]);
    });
  });

  it("follows interim responses: 103 is relayed with its fields, others are not", async () => {
    const early = "HTTP/1.1 103 Early\r\nLink: </a>\r\nConnection: x\r\n\r\nHTTP/1.1 102 Wait\r\n\r\n";
    await using backend = await openSayer(`${early}${early.repeat(20)}${ok}`);
    await withClient(backend, async (client) => {
      const { interim, body } = await client.ask();
      expect(interim).toEqual(Array.from({ length: 8 }, () => 103));
      expect(body).toBe("hello");
    });
  });

  it.each([
    { answer: "HTTP/1.1 700 Odd\r\nContent-Length: 0\r\n\r\n", because: "Node does not send its status over HTTP/2" },
    { answer: "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n", because: "nothing was asked to be switched" },
    { answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", because: "it is malformed" },
  ])("is 502 because $because", async ({ answer }) => {
    await using backend = await openSayer(answer);
    await withClient(backend, async (client) => {
      expect(await client.ask()).toMatchObject({ status: 502, code: 0 });
    });
  });

  it("that comes before the whole request ends it: the client is told that no more is needed", async () => {
    const seen: string[] = [];
    await using backend = await openSayer("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno", seen);
    await withClient(backend, async (client) => {
      const stream = client.open({ ":method": "POST" });
      stream.write("a part");
      expect(await answerOf(stream)).toMatchObject({ status: 403, body: "no", code: 0 });
    });
  });

  it.each([
    { name: "of known length", answer: "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno" },
    { name: "in chunks", answer: "HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n" },
    {
      name: "with trailers",
      answer: "HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\nx-sum: 7\r\n\r\n",
    },
  ])(
    "$name that comes before the whole request is ended first, and then reset without an error",
    async ({ answer }) => {
      await using backend = await openSayer(answer);
      await using proxyPath = await openProxyPath(backend.port);
      {
        using client = await openFrameClient(proxyPath.port);
        const post = fieldsOf("POST");
        client.send(headersOf(1, post, flag.endHeaders), frameOf({ type: frame.data, stream: 1 }, Buffer.from("part")));
        const reset = await client.until(({ type, stream }) => type === frame.reset && stream === 1);
        expect(codeOf(reset)).toBe(0);
        const [first] = client.frames.filter(endsStream(1));
        expect(first).not.toBe(reset);
      }
      await proxyPath.empty();
    },
  );
});
