import { describe, expect, it } from "vitest";
import { corpus } from "../../../test/malformed/messages.ts";
import { preface } from "../../../test/support/http2-frames.ts";
import { openProxyPath, openStrictBackend, say } from "../../../test/support/proxy-path.ts";

const like = [
  "PRI * HTTP/1.1\r\nHost: a\r\n\r\n",
  "PRI * HTTP/2.0\r\nHost: a\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r",
  "PRI * HTTP/2.0\r\n\r\nSN\r\n\r\n",
  "PRI / HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "PRI * HTTP/3.0\r\n\r\nSM\r\n\r\n",
  "pri * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
];
const valid = ["1.0", "1.1"].flatMap((version) => [
  `GET / HTTP/${version}\r\nHost: a\r\nConnection: close\r\n\r\n`,
  `POST / HTTP/${version}\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc`,
]);
const messages = [...like, ...valid, ...corpus.map((bytes) => bytes.toString("latin1"))];

/** A prefix of the preface may still become HTTP/2. */
const isHttp2 = (message: string) => preface.toString("latin1").startsWith(message.slice(0, preface.length));

describe("a front that accepts HTTP/2", () => {
  it("answers every message of HTTP/1, also one like the preface, as a front without HTTP/2 does", async () => {
    await using backend = await openStrictBackend("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    await using both = await openProxyPath(backend.port);
    await using plain = await openProxyPath(backend.port, { http2: false });
    const compared = messages.filter((message) => message === "" || !isHttp2(message));
    expect(compared.length).toBeGreaterThan(300);
    for (const message of compared) {
      const [one, other] = await Promise.all([say(both.port, message, "end"), say(plain.port, message, "end")]);
      expect([message.slice(0, 200), one]).toEqual([message.slice(0, 200), other]);
    }
    await both.empty();
    await plain.empty();
  }, 60_000);
});
