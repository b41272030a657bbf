import { describe, expect, it } from "vitest";
import { RecentAnswers } from "../../activator/authorize/recent-answers.ts";
import { toResponse } from "../../activator/failures/error-response.ts";
import { ActivatorError } from "../../activator/failures/errors-for-clients.ts";
import { readHost } from "../../activator/find/host-name.ts";
import { readPathRoute } from "../../activator/find/path-route.ts";
import { readRoutingHeaders } from "../../activator/find/routing-headers.ts";
import { sandboxTarget } from "../../activator/find/sandbox-target.ts";
import { ClientRequest } from "../../activator/http1/front/client-request.ts";
import { Exchange, type ExchangeConnection } from "../../activator/http1/front/exchange.ts";
import { RequestBody } from "../../activator/http1/front/request-body.ts";
import { RequestHeadParser } from "../../activator/http1/parse/request-head-parser.ts";
import { uncounted } from "../../activator/http1/parse/section-reader.ts";
import { AccessLog } from "../../activator/observe/access-log.ts";
import { NamespaceLabels } from "../../activator/observe/namespace-labels.ts";
import { spanOf } from "../../activator/observe/traced-request-record.ts";
import { headerValue } from "../../activator/request.ts";
import { BufferLoans, ReadPlace } from "../../activator/socket/read-place.ts";
import { newSocket } from "../../activator/socket/wire-socket.ts";
import { createLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import { recordingTracer } from "../support/fakes/recording-tracer.ts";
import { heapBytesOf } from "../support/heap-bytes.ts";

const filler = Array.from({ length: 7 }, (_, at) => `X-F${at}: ${"a".repeat(8_500)}\r\n`).join("");
const parser = new RequestHeadParser({ sectionBytesMax: 65_536, fieldsMax: 128, targetBytesMax: 16_384 });

/** A request with a head of 60 KB, and with texts that no other request has. */
function request(count: number): ClientRequest {
  const trace = `00-${String(count).padStart(32, "1")}-00f067aa0ba902b7-01`;
  const bytes = Buffer.from(
    `GET /a-path-of-its-own/a-namespace-of-${count}/a-sandbox-of-${count}/8888/and-a-rest-${count} HTTP/1.1\r\nHost: host-number-${count}.example\r\nX-Sandbox-ID: a-name-that-is-long-${count}\r\n` +
      `X-Sandbox-Namespace: a-namespace-that-is-long-${count}\r\nX-Sandbox-Pod-IP: 100.100.100.${count}\r\n` +
      `User-Agent: a-program-with-number-${count}\r\nTraceparent: ${trace}\r\nTracestate: vendor=a-state-of-its-own-${count}\r\n${filler}\r\n`,
  );
  if (parser.push(bytes, 0, bytes.length) !== "complete") throw new Error("the head is not whole");
  return new ClientRequest(parser.head.keep(), { peer: "192.0.2.1", clientIp: "192.0.2.1", scheme: "http" });
}

/** The exchange of a request that was rejected, while its client does not read the response. */
function refused(head: ClientRequest): Exchange {
  const socket = Object.assign(newSocket(), { write: () => false });
  const connection: ExchangeConnection = {
    ...{ socket, closing: false, responded() {}, concluded() {}, proxied() {}, over() {}, endGracefully: () => false },
    ...{ cut() {}, closed() {}, handOver: () => ({ ahead: undefined, ended: false, place }) },
  };
  const exchange = new Exchange(connection, head, new RequestBody(head.wire, uncounted), 0);
  exchange.answer(toResponse(new ActivatorError("WrongToken")));
  return exchange;
}

const place = new ReadPlace(new BufferLoans(0), { readOn() {} });
const clock = new FakeClock();
const domains = { domain: "sandbox.example", clusterDomain: "cluster.local", serviceNames: [] };
const question = {
  ...{ clock, max: 1_000, isGood: () => false, ownerOf: () => undefined, ttlMs: 60_000, failureTtlMs: 60_000 },
  ...{ limitMs: 60_000, vainRate: { perSecond: 1_000, burst: 1_000 }, onFailure: () => {}, waitingMax: 1_000 },
  ...{ open: { max: 1_000, maxOfGroup: 1_000 }, waitMs: 60_000 },
};
const answers = new RecentAnswers<object>(question);
const openAnswers = new RecentAnswers<object>(question);
const lines = new OncePerMinute(clock);
const namespaces = new NamespaceLabels({ clock, hasSandboxes: () => true });
const { tracer } = recordingTracer();
const accessLog = new AccessLog(createLogger("test", "info", { write() {} }), clock);
const id = ({ headers }: ClientRequest) => headerValue(headers, "x-sandbox-id") ?? "";

describe("of a request with a large head", () => {
  it.each<[string, (request: ClientRequest) => unknown]>([
    ["the meaning of its host", ({ host }) => readHost(host, domains)],
    ["its routing headers, and the class of its address", ({ headers }) => readRoutingHeaders(headers, false)],
    [
      "the sandbox that its path names, and its target there",
      (head) => {
        const route = readPathRoute(head.target, "/a-path-of-its-own");
        head.sandboxTarget = sandboxTarget(head.target, { length: route.length, hidden: undefined });
        head.sent();
        return { route, head };
      },
    ],
    ["a decision about it", (head) => answers.get(`user ${id(head)}/${id(head)}`, "a", async () => ({}))],
    ["an open question about it", (head) => void openAnswers.get(`user ${id(head)}`, "a", () => new Promise(() => {}))],
    ["the time of a log line about it", (head) => lines.asks(`reason ${id(head)}/${id(head)}`)],
    ["the label of its namespace", ({ headers }) => namespaces.of(headerValue(headers, "x-sandbox-namespace") ?? "")],
    ["its span", (head) => spanOf(head, tracer)],
    [
      "its line in the access log",
      (head) =>
        accessLog.add({
          ...{ head, ended: { status: 404, bytesOut: 0 }, durationMs: 1, reason: undefined, wake: undefined },
          ...{ trace: undefined, routed: undefined },
        }),
    ],
    ["its exchange, once it is rejected,", refused],
  ])("%s keeps nothing but its own text", async (_, keep) => {
    const kept: unknown[] = [];
    const bytes = await heapBytesOf(async () => {
      for (let count = 1; count <= 100; count += 1) kept.push(await keep(request(count)));
    });
    expect(bytes / kept.length).toBeLessThan(12_000);
  });
});

describe("of texts that are too long for a host name, as in an Origin or a TLS name,", () => {
  it("nothing is kept", async () => {
    const bytes = await heapBytesOf(() => {
      for (let count = 1; count <= 500; count += 1) readHost(String(count).padEnd(50_000, "a"), domains);
    });
    expect(bytes).toBeLessThan(1_000_000);
    expect(readHost("a".repeat(300), domains)).toEqual({ is: "malformed" });
  });
});
