import { setTimeout as delay } from "node:timers/promises";
import type { Findings } from "./findings.ts";
import { closed, handshakeSeconds } from "./link.ts";
import type { CrowdSession, ExchangePlan, SilentSession, Visit } from "./plan.ts";
import { type Connection, dialPlain, type World } from "./world.ts";

const handshakeStart = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]);

/** Connections that are closed early, some of them within a head or handshake. Leaks are counted at the end. */
export async function crowd({ visits }: CrowdSession, world: World): Promise<void> {
  await Promise.all(visits.map(({ how, afterMs, plan }) => visit(how, plan, { afterMs, world })));
}

interface VisitOptions {
  readonly afterMs: number;
  readonly world: World;
}

async function visit(how: Visit, plan: ExchangePlan, { afterMs, world }: VisitOptions): Promise<void> {
  const connection = dialFor(how, plan, world);
  if (!connection) return;
  const { socket, cut } = connection;
  await new Promise<void>((resolve) => socket.once("connect", resolve).once("close", () => resolve()));
  say(how, plan, connection, world);
  await delay(afterMs);
  if (how === "close" || how === "tcpClose") {
    socket.resume();
    socket.once("end", () => socket.end());
    socket.end();
  } else cut();
  await Promise.race([closed(socket), delay(2_000)]);
  socket.destroy();
  if (how === "unread") world.ledger.close(plan.id);
}

function dialFor(how: Visit, { sandbox }: ExchangePlan, world: World): Connection | undefined {
  switch (how) {
    case "tcpClose":
    case "tcpReset": {
      const address = world.tcp(sandbox);
      return address && dialPlain(address);
    }
    case "halfHandshake":
      return dialPlain(world.https);
    default:
      return dialPlain(world.http);
  }
}

function say(how: Visit, plan: ExchangePlan, { socket }: Connection, { ledger }: World): void {
  const head = `GET /t/${plan.id} HTTP/1.1\r\nHost: torture.test\r\nX-Sandbox-ID: ${plan.sandbox}\r\n`;
  if (how === "halfHead") socket.write(head.slice(0, 1 + (plan.id % head.length)));
  if (how === "halfHandshake") socket.write(handshakeStart);
  if (how === "unread") {
    ledger.open({ ...plan, method: "GET", upload: undefined });
    socket.write(`${head}\r\n`);
  }
}

/** A busy machine may close it this much later. */
const graceMs = 15_000;

/** Connections that never finish their handshake. The activator must close them. */
export async function neverHandshake({ said }: SilentSession, world: World, report: SessionReport): Promise<void> {
  await Promise.all(said.map((bytes) => startHandshake(bytes, world, report)));
}

export interface SessionReport {
  readonly findings: Findings;
  readonly where: string;
  /** Whether the activator has exited meanwhile. */
  readonly ended: () => boolean;
}

async function startHandshake(bytes: number, world: World, { findings, where, ended }: SessionReport): Promise<void> {
  const { socket } = dialPlain(world.https);
  const isClosed = closed(socket.resume().once("end", () => socket.end())).then(() => true);
  if (bytes > 0) socket.write(Buffer.concat([handshakeStart, Buffer.alloc(bytes)]));
  const limitMs = handshakeSeconds * 1_000 + graceMs;
  const over = new AbortController();
  const inTime = await Promise.race([isClosed, delay(limitMs, false, { signal: over.signal }).catch(() => false)]);
  over.abort();
  socket.destroy();
  if (inTime || ended()) return;
  findings.complain(where, {
    what: "a handshake that never ends was not closed",
    sent: bytes === 0 ? "nothing" : `${bytes} bytes of a handshake`,
    expected: `the end within ${handshakeSeconds} s`,
    came: `nothing for ${limitMs} ms`,
  });
}
