import type { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import type { Random } from "../../http1/random.ts";
import { webSocketProofFor } from "../../support/sockets/web-socket-proof.ts";

const piece = Buffer.alloc(65_536, "y");
/** How much a response without an end sends, in bytes: more than the kernel keeps for a client that does not read. */
const endlessBytes = 12_000_000;
export const plainBody = "the plain response";

/** Answers one request of HTTP/1.1 as the sequence says. */
export function answerHttp1(socket: Socket, head: string, random: Random): void {
  if (head.includes("/plain")) return send(socket, lengthHead(plainBody.length), plainBody);
  const ways = /^Upgrade: websocket\r$/im.test(head)
    ? [...Array<Way>(4).fill(webSocket), complete, close]
    : /\/endless/.test(head)
      ? [endless, endless, endlessChunks]
      : /\/early/.test(head)
        ? [complete, complete, complete, chunks]
        : [complete, chunks, late, endless, endlessChunks, inPieces, interim, refusal, short, close, silence];
  random.pick(ways)(socket, random, head);
}

type Way = (socket: Socket, random: Random, head: string) => void;

const lengthHead = (length: number) => `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`;
const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const chunkOf = (bytes: string) => (bytes === "" ? "" : `${bytes.length.toString(16)}\r\n${bytes}\r\n`);

function send(socket: Socket, ...parts: readonly string[]): void {
  if (socket.writable) socket.write(parts.join(""), "latin1");
}

const bodyOf = (random: Random) => "y".repeat(random.pick([0, 1, 100, 5_000, 70_000]));

const complete: Way = (socket, random) => {
  const body = bodyOf(random);
  send(socket, lengthHead(body.length), body);
};

const chunks: Way = (socket, random) =>
  send(socket, chunkedHead, chunkOf(bodyOf(random)), "0\r\n", random.pick(["", "X-End: 1\r\n"]), "\r\n");

const late: Way = (socket, random) => void afterTurns(random.below(40), () => complete(socket, random, ""));

const endless: Way = (socket, random) => {
  send(socket, `HTTP/1.1 200 OK\r\n${random.pick(["", `Content-Length: ${endlessBytes}\r\n`])}\r\n`);
  pump(socket, endlessBytes, () => piece);
};

const chunkOfPiece = Buffer.from(chunkOf(piece.toString("latin1")), "latin1");
const endlessChunks: Way = (socket) => {
  send(socket, chunkedHead);
  pump(socket, endlessBytes, () => chunkOfPiece);
};

const inPieces: Way = (socket, random) => {
  const text = `${chunkedHead}${chunkOf(bodyOf(random))}${chunkOf("z".repeat(20))}0\r\n\r\n`;
  void (async () => {
    for (let at = 0; at < text.length && socket.writable; ) {
      const length = random.pick([1, 30, 5_000, 50_000]);
      send(socket, text.slice(at, at + length));
      at += length;
      await turn();
    }
  })();
};

const interim: Way = (socket, random) => {
  send(socket, random.pick(["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"]));
  void afterTurns(random.below(5), () => complete(socket, random, ""));
};

const refusal: Way = (socket, random) => {
  send(socket, `HTTP/1.1 ${random.pick([404, 413, 500])} No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno`);
  if (random.once(2)) socket.end();
};

const short: Way = (socket, random) => {
  send(socket, lengthHead(90_000), "y".repeat(random.pick([0, 1, 40_000])));
  void afterTurns(random.below(10), () => close(socket, random, ""));
};

const close: Way = (socket, random) => {
  random.pick([() => socket.end(), () => socket.destroy(), () => socket.resetAndDestroy()])();
};

const silence: Way = () => {};

const closeFrame = Buffer.from([0x88, 0x02, 0x03, 0xe8]);
const textFrame = Buffer.from([0x81, 0x02, 0x68, 0x69]);
const longFrame = Buffer.concat([Buffer.from([0x82, 126, 0xff, 0xff]), Buffer.alloc(65_535)]);

const webSocket: Way = (socket, random, head) => {
  const proof = webSocketProofFor(head);
  const fields = `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${proof}\r\n`;
  send(socket, `HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n`);
  const then = random.pick<() => void>([
    () => pump(socket, endlessBytes, () => longFrame),
    () => pump(socket, random.below(2_000), () => textFrame),
    () => socket.writable && socket.end(Buffer.concat([textFrame, closeFrame])),
    () => socket.writable && socket.write(longFrame.subarray(0, 1_000)),
    () => close(socket, random, ""),
    () => {},
  ]);
  void afterTurns(random.below(20), then);
};

async function afterTurns(turns: number, then: () => void): Promise<void> {
  for (let left = turns; left > 0; left -= 1) await turn();
  then();
}

/** Writes as long as the other side takes it. */
export function pump(socket: Socket, bytes: number, next: () => Buffer): void {
  let left = bytes;
  const on = () => {
    while (left > 0 && socket.writable) {
      const part = next();
      left -= part.length;
      if (!socket.write(part)) return void socket.once("drain", on);
    }
  };
  on();
}
