import { setTimeout as delay } from "node:timers/promises";
import type { Findings } from "./findings.ts";
import { closed } from "./link.ts";
import type { CrowdSession, ExchangePlan, SilentSession, Visit } from "./plan.ts";
import { type Connection, dialPlain, type World } from "./world.ts";

const handshakeStart = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]);

/** Connections that come and go, some of them in the middle of something; what they leave behind is counted at the end. */
export async function crowd({ visits }: CrowdSession, world: World): Promise<void> {
  await Promise.all(visits.map(({ how, afterMs, plan }) => visit(how, plan, { afterMs, world })));
}

interface Stay {
  readonly afterMs: number;
  readonly world: World;
}

async function visit(how: Visit, plan: ExchangePlan, { afterMs, world }: Stay): Promise<void> {
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

/** A handshake may take so long by `--headers-timeout`. */
export const handshakeSeconds = 2;
/** How much later a busy machine may close it. */
const graceMs = 15_000;

/** Connections that never finish their handshake: they must be closed, for nobody knows who they are. */
export async function stayAway({ said }: SilentSession, world: World, told: Told): Promise<void> {
  await Promise.all(said.map((bytes) => keepSilent(bytes, world, told)));
}

export interface Told {
  readonly findings: Findings;
  readonly where: string;
  /** Whether the activator that was dialled has ended. */
  readonly ended: () => boolean;
}

async function keepSilent(bytes: number, world: World, { findings, where, ended }: Told): Promise<void> {
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
