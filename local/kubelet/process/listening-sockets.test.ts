import { expect, it } from "vitest";
import { listenersOnEveryAddress } from "./listening-sockets.ts";

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
