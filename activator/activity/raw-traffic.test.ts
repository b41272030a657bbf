import { once } from "node:events";
import { connect, createServer } from "node:http2";
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from "node:net";
import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";
import { RawTraffic } from "./raw-traffic.ts";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

function frame(type: number, length: number, stream: number): Buffer {
  const bytes = Buffer.alloc(9 + length, 0x2a);
  bytes.writeUIntBE(length, 0, 3);
  bytes.writeUInt8(type, 3);
  bytes.writeUInt8(0, 4);
  bytes.writeUInt32BE(stream, 5);
  return bytes;
}

const settings = frame(4, 18, 0);
const ping = frame(6, 8, 0);
const windowUpdate = frame(8, 4, 3);
const headers = frame(1, 40, 1);
const data = frame(0, 300, 1);
const hello = Buffer.concat([preface, settings]);

const clientSent = (traffic: RawTraffic, bytes: Buffer) => traffic.clientSent(bytes, bytes.length);
const sandboxSent = (traffic: RawTraffic, bytes: Buffer) => traffic.sandboxSent(bytes, bytes.length);

function inHttp2(): RawTraffic {
  const traffic = new RawTraffic();
  expect(sandboxSent(traffic, settings)).toBe("answer"); // not known yet
  expect(clientSent(traffic, hello)).toBe(false);
  return traffic;
}

describe("a raw connection", () => {
  it.each(["SELECT 1", "P", "PING\r\n", "PRI * HTTP/1.1\r\n\r\n", "PRI"])(
    "of a client that sends %j is all data",
    (text) => {
      const traffic = new RawTraffic();
      expect(clientSent(traffic, Buffer.from(text))).toBe(true);
      expect(sandboxSent(traffic, Buffer.from("+PONG\r\n"))).toBe("answer");
      expect(clientSent(traffic, ping)).toBe(true);
      expect(sandboxSent(traffic, ping)).toBe("answer");
    },
  );

  it("of a server that greets first is all data, even if the client then sends an HTTP/2 preface", () => {
    const traffic = new RawTraffic();
    expect(sandboxSent(traffic, Buffer.from("220 mail.example ESMTP\r\n"))).toBe("answer");
    expect(clientSent(traffic, hello)).toBe(true);
    expect(clientSent(traffic, ping)).toBe(true);
  });
});

describe("HTTP/2 on a raw connection", () => {
  it.each([
    { what: "HEADERS", bytes: headers, counts: true },
    { what: "DATA", bytes: data, counts: true },
    { what: "DATA without a byte", bytes: frame(0, 0, 1), counts: true },
    { what: "PRIORITY", bytes: frame(2, 5, 1), counts: false },
    { what: "RST_STREAM", bytes: frame(3, 4, 1), counts: false },
    { what: "SETTINGS", bytes: settings, counts: false },
    { what: "PING", bytes: ping, counts: false },
    { what: "GOAWAY", bytes: frame(7, 20, 0), counts: false },
    { what: "WINDOW_UPDATE", bytes: windowUpdate, counts: false },
    { what: "a frame of an unknown type", bytes: frame(0xfa, 7, 9), counts: false },
  ])("counts $what, both ways: $counts", ({ bytes, counts }) => {
    const traffic = inHttp2();
    expect(clientSent(traffic, bytes)).toBe(counts);
    expect(sandboxSent(traffic, bytes)).toBe(counts ? "answer" : "nothing");
  });

  it("is followed at every split of its bytes", () => {
    const up = Buffer.concat([hello, ping, data, windowUpdate]);
    const dataFrom = hello.length + ping.length;
    for (let cut = preface.length; cut < up.length; cut += 1) {
      const traffic = new RawTraffic();
      const seen = [up.subarray(0, cut), up.subarray(cut)].map((part) => clientSent(traffic, part));
      expect(seen, `cut at ${cut}`).toEqual([cut >= dataFrom + 9, cut < dataFrom + data.length]);
    }
  });

  it("is recognized by a preface in pieces", () => {
    const traffic = new RawTraffic();
    for (const byte of preface) clientSent(traffic, Buffer.from([byte]));
    expect(clientSent(traffic, settings)).toBe(false);
    expect(clientSent(traffic, ping)).toBe(false);
  });

  it("does not take the rest of an earlier frame for an answer", () => {
    const traffic = inHttp2();
    expect(sandboxSent(traffic, data.subarray(0, 100))).toBe("answer");
    expect(sandboxSent(traffic, data.subarray(100))).toBe("rest");
  });

  it.each([
    { what: "no SETTINGS first", bytes: Buffer.concat([preface, ping]) },
    { what: "a PING of nine bytes", bytes: Buffer.concat([hello, frame(6, 9, 0)]) },
    { what: "DATA of no stream", bytes: Buffer.concat([hello, frame(0, 1, 0)]) },
    { what: "text", bytes: Buffer.concat([hello, Buffer.from("SELECT pg_sleep(9);\n")]) },
  ])("is bytes again after $what", ({ bytes }) => {
    const traffic = new RawTraffic();
    expect(clientSent(traffic, bytes)).toBe(true);
    expect(clientSent(traffic, ping)).toBe(true);
    expect(sandboxSent(traffic, ping)).toBe("answer");
  });

  it("survives arbitrary bytes", () => {
    const random = seededRandom(7);
    for (let round = 0; round < 2_000; round += 1) {
      const traffic = new RawTraffic();
      if (random.below(2) === 0) clientSent(traffic, hello);
      for (let part = 0; part < 5; part += 1) {
        const bytes = Buffer.from(Array.from({ length: random.below(60) }, () => random.below(256)));
        clientSent(traffic, bytes);
        sandboxSent(traffic, bytes);
      }
    }
  });

  it("of a real client and server counts requests and answers, not pings", async () => {
    const traffic = new RawTraffic();
    const counted: string[] = [];
    await using stack = new AsyncDisposableStack();
    const server = createServer((_, response) => void response.end("hello"));
    stack.defer(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const between = createTcpServer((client) => {
      const pod = connectTcp((server.address() as AddressInfo).port, "127.0.0.1");
      client.on("data", (bytes: Buffer) => {
        if (clientSent(traffic, bytes)) counted.push("asked");
        pod.write(bytes);
      });
      pod.on("data", (bytes: Buffer) => {
        if (sandboxSent(traffic, bytes) === "answer") counted.push("answered");
        client.write(bytes);
      });
      for (const socket of [client, pod]) socket.on("error", () => {});
      client.once("close", () => pod.destroy());
    });
    stack.defer(() => void between.close());
    await new Promise<void>((resolve) => between.listen(0, "127.0.0.1", resolve));
    const session = connect(`http://127.0.0.1:${(between.address() as AddressInfo).port}`);
    stack.defer(() => session.destroy());
    await once(session, "remoteSettings");
    const pong = () =>
      new Promise<void>((resolve, reject) => session.ping((error) => (error ? reject(error) : resolve())));
    await pong();
    counted.length = 0; // the first SETTINGS of the server may have come before the preface
    await pong();
    expect(counted).toEqual([]);
    const answer = session.request({ ":path": "/" });
    let body = "";
    answer.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    await eventually(() => body === "hello");
    expect(counted).toContain("asked");
    expect(counted.at(-1)).toBe("answered");
    await pong();
    expect(counted.at(-1)).toBe("answered");
  });
});
