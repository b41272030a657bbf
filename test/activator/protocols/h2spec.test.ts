import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import {
  type Backend,
  openBackend,
  openProxyPath,
  openStrictBackend,
  type ProxyPathOptions,
} from "../../support/proxy-path.ts";
import { tls } from "../../support/tls-path.ts";
import { builtProgram } from "./built-program.ts";

const run = promisify(execFile);

/** What nghttp2 answers in another way. `docs/guide/ways-in.md` has the reasons. */
const answeredOtherwise = [
  "http2/5.1: closed: Sends a DATA frame after sending RST_STREAM frame",
  "http2/5.1: closed: Sends a HEADERS frame after sending RST_STREAM frame",
  "http2/5.1: closed: Sends a DATA frame",
  "http2/5.1: closed: Sends a HEADERS frame",
  "http2/5.1.1: Sends stream identifier that is numerically smaller than previous",
  "http2/5.3.1: Sends PRIORITY frame that depend on itself",
  "http2/6.3: Sends a PRIORITY frame with 0x0 stream identifier",
  "http2/6.7: Sends a PING frame with ACK",
  "http2/6.9.1: Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream",
];

/**
 * Tests that send a frame behind a complete request. Their result depends on whether the response has closed the stream before, so here
 * they are run against a program that does not answer.
 */
const onHalfClosed = ["http2/5.1/5", "http2/5.1/6", "http2/5.1/7", "http2/6.1/2"];
const isOnHalfClosed = (test: string) => /half[ -]closed \(/.test(test);

/** In clear text a connection that does not begin with the preface is one of HTTP/1.1, and gets its 400. */
const invalidPreface = "http2/3.5: Sends invalid connection preface";

let h2spec = "";
beforeAll(async () => {
  h2spec = await builtProgram("h2spec");
});

interface Outcome {
  readonly tests: number;
  /** The tests that fail, by section and title. */
  readonly failures: readonly string[];
}

async function runSpec(backend: Backend, options: ProxyPathOptions, flags: readonly string[]): Promise<Outcome> {
  await using path = await openProxyPath(backend.port, options);
  await using directory = await mkdtempDisposable(join(tmpdir(), "h2spec-"));
  const report = join(directory.path, "report.xml");
  // It exits with 1 if a test fails.
  await run(h2spec, ["-p", String(path.port), "-o", "3", "-j", report, ...flags]).catch(() => {});
  const xml = await readFile(report, "utf8");
  const tests = [...xml.matchAll(/<testcase package="([^"]*)" classname="([^"]*)"[^>]*>(.*?)<\/testcase>/gs)];
  const failures = tests.flatMap(([, section, title, result = ""]) =>
    /<failure|<error/.test(result) ? [`${section}: ${title}`] : [],
  );
  return { tests: tests.length, failures };
}

/** The tests that fail, apart from those on half-closed streams. */
async function failures(options: ProxyPathOptions, ...flags: readonly string[]): Promise<readonly string[]> {
  await using backend = await openStrictBackend("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  const outcome = await runSpec(backend, options, flags);
  expect(outcome.tests).toBeGreaterThan(140);
  return outcome.failures.filter((test) => !isOnHalfClosed(test));
}

it("h2spec finds only what nghttp2 answers in another way, in clear text", async () => {
  expect(await failures({})).toEqual([invalidPreface, ...answeredOtherwise]);
});

it("h2spec finds only what nghttp2 answers in another way, over TLS", async () => {
  expect(await failures({ tls }, "-t", "-k")).toEqual(answeredOtherwise);
});

it.each([
  { way: "in clear text", options: {}, flags: [] },
  { way: "over TLS", options: { tls }, flags: ["-t", "-k"] },
])("h2spec finds nothing about half-closed streams without a response, $way", async ({ options, flags }) => {
  await using silent = await openBackend(() => {});
  const outcome = await runSpec(silent, options, [...flags, ...onHalfClosed]);
  expect(outcome).toEqual({ tests: onHalfClosed.length, failures: [] });
});
