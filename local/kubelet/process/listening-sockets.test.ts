import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { listenersOnEveryAddress, readListening } from "./listening-sockets.ts";
import { hasProc } from "./proc.ts";

const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
const rest = "00000000:00000000 00:00000000 00000000     0        0";

it("finds listeners on 0.0.0.0, but no other listeners or connections", () => {
  const text = [
    head,
    `   0: 00000000:1F90 00000000:0000 0A ${rest} 4711 1 0000000000000000 100 0 0 10 0`,
    `   1: 0201407F:1F90 00000000:0000 0A ${rest} 4712 1 0000000000000000 100 0 0 10 0`,
    `   2: 00000000:1F90 0100007F:C350 01 ${rest} 4713 1 0000000000000000 100 0 0 10 0`,
    "",
  ].join("\n");
  expect(listenersOnEveryAddress(text)).toEqual([{ port: 8080, inode: "4711" }]);
});

it("finds listeners on the IPv6 address that accepts IPv4 connections as well", () => {
  const zero = "0".repeat(32);
  const text = `${head}\n   0: ${zero}:22B8 ${zero}:0000 0A ${rest} 9 1 0000000000000000 100 0 0 10 0\n`;
  expect(listenersOnEveryAddress(text)).toEqual([{ port: 8888, inode: "9" }]);
});

it.each([
  { machine: "little-endian", address: "0000000000000000FFFF000000000000" },
  { machine: "big-endian", address: "00000000000000000000FFFF00000000" },
])("finds listeners on the IPv4-mapped form of 0.0.0.0 on a $machine machine", ({ address }) => {
  const zero = "0".repeat(32);
  const one = "0000000000000000FFFF00000100007F"; // 127.0.0.1
  const text = [
    `   0: ${address}:22B8 ${zero}:0000 0A ${rest} 9 1 0000000000000000 100 0 0 10 0`,
    `   1: ${one}:22B9 ${zero}:0000 0A ${rest} 10 1 0000000000000000 100 0 0 10 0`,
  ];
  expect(listenersOnEveryAddress([head, ...text, ""].join("\n"))).toEqual([{ port: 8888, inode: "9" }]);
});

it("finds a real listener on the IPv4-mapped form of 0.0.0.0", async ({ skip }) => {
  if (!hasProc) return skip("needs /proc");
  await using server = createServer().listen(0, "::ffff:0.0.0.0");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const found = listenersOnEveryAddress(await readListening("/proc/net/tcp6"));
  expect(found.map((each) => each.port)).toContain(port);
});

/** The ports on every address that a file has, and the number of bytes that were read of it. */
async function readFrom(lines: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), "rouse-sockets-"));
  try {
    const file = join(folder, "tcp");
    await writeFile(file, [head, ...lines, ""].join("\n"));
    const text = await readListening(file);
    return { ports: listenersOnEveryAddress(text).map(({ port }) => port), bytes: text.length };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const socketsOf = (count: number, state: string) =>
  Array.from({ length: count }, (_, at) => {
    const port = (0x2000 + at).toString(16).toUpperCase();
    return `${String(at).padStart(4)}: 00000000:${port} 00000000:0000 ${state} ${rest} ${at} 1 0000000000000000 100 0 0 10 0`;
  });

it("reads every listening socket, however many there are", async () => {
  const { ports } = await readFrom(socketsOf(500, "0A"));
  expect(ports).toEqual(Array.from({ length: 500 }, (_, at) => 0x2000 + at));
});

it("reads little of ten thousand connections, which come after the listening sockets", async () => {
  const { ports, bytes } = await readFrom([...socketsOf(100, "0A"), ...socketsOf(10_000, "06")]);
  expect(ports).toHaveLength(100);
  expect(bytes).toBeLessThan(32_768);
});

it("finds nothing where there is no such file", async () => {
  expect(await readListening("/proc/net/no-such-file")).toBe("");
});

it.runIf(hasProc)("finds a new listener of this machine", async () => {
  const server = createServer().listen(0, "0.0.0.0");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const found = listenersOnEveryAddress(await readListening("/proc/net/tcp"));
  expect(found.map((socket) => socket.port)).toContain(port);
  server.close();
});
