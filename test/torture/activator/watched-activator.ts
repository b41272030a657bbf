// The activator, with a page of its resource counts, one of its sockets, and one that writes a heap snapshot to a file. The flag --resource-counts has the address of the pages.
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { queryObjects, setFlagsFromString, writeHeapSnapshot } from "node:v8";
import { runInNewContext } from "node:vm";
import { ClientConnection } from "../../../activator/http1/front/client-connection.ts";
import { Exchange } from "../../../activator/http1/front/exchange.ts";
import { ExchangeProxy } from "../../../activator/http1/proxy/exchange-proxy.ts";
import { PodConnection } from "../../../activator/http1/proxy/pod-connection.ts";
import { ClientSession } from "../../../activator/http2/front/client-session.ts";
import { StreamExchange } from "../../../activator/http2/front/stream-exchange.ts";
import { StreamProxy } from "../../../activator/http2/proxy/stream-proxy.ts";
import { openSockets } from "../../../activator/socket/open-sockets.ts";
import { BufferLoans } from "../../../activator/socket/read-place.ts";
import { RelaySide } from "../../../activator/socket/relay.ts";
import { TcpClient } from "../../../activator/tcp-front/connection/tcp-client.ts";
import type { ProcessCounts } from "./resource-counts.ts";
import { ownSockets } from "./socket-states.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

const watched = {
  ...{ ExchangeProxy, ClientConnection, Exchange, PodConnection, RelaySide, TcpClient },
  ...{ ClientSession, StreamExchange, StreamProxy },
};

const loans = new Set<BufferLoans>();
const { borrow } = BufferLoans.prototype;
BufferLoans.prototype.borrow = function watchedBorrow(this: BufferLoans, owner) {
  loans.add(this);
  return borrow.call(this, owner);
};

function memory(): Pick<ProcessCounts, "heapBytes" | "externalBytes" | "peakBytes"> {
  const { heapUsed, external } = process.memoryUsage();
  return { heapBytes: heapUsed, externalBytes: external, peakBytes: process.resourceUsage().maxRSS * 1_024 };
}

function resourceCounts(): ProcessCounts {
  collect();
  return {
    ...memory(),
    descriptors: readdirSync("/proc/self/fd").length,
    sockets: openSockets(),
    loans: [...loans].reduce((sum, { lent }) => sum + lent, 0),
    objects: Object.fromEntries(
      Object.entries(watched).map(([name, type]) => [name, queryObjects(type, { format: "count" })]),
    ),
  };
}

const name = "--resource-counts=";
const at = process.argv.findIndex((flag) => flag.startsWith(name));
const [host, port] = (process.argv.splice(at, 1)[0] ?? "").slice(name.length).split(":");
const snapshotFile = join(tmpdir(), `rouse-torture-${process.pid}.heapsnapshot`);
const answerOf = (path = "") => {
  if (path === "/sockets") return ownSockets().join("\n");
  if (path === "/snapshot") return writeHeapSnapshot(snapshotFile);
  return JSON.stringify(resourceCounts());
};
createServer(({ url }, response) => response.end(answerOf(url))).listen(Number(port), host);
await import("../../../activator/main.ts");
