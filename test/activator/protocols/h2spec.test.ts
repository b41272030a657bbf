import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { openProxyPath, openStrictBackend, type ProxyPathOptions } from "../../support/proxy-path.ts";
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

/** In clear text a connection that does not begin with the preface is one of HTTP/1.1, and gets its 400. */
const invalidPreface = "http2/3.5: Sends invalid connection preface";

let h2spec = "";
beforeAll(async () => {
  h2spec = await builtProgram("h2spec");
});

/** The tests of h2spec that fail, by section and title. */
async function failures(options: ProxyPathOptions, ...flags: readonly string[]): Promise<readonly string[]> {
  await using backend = await openStrictBackend("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  await using path = await openProxyPath(backend.port, options);
  await using directory = await mkdtempDisposable(join(tmpdir(), "h2spec-"));
  const report = join(directory.path, "report.xml");
  // It exits with 1 if a test fails.
  await run(h2spec, ["-p", String(path.port), "-o", "3", "-j", report, ...flags]).catch(() => {});
  const xml = await readFile(report, "utf8");
  const tests = [...xml.matchAll(/<testcase package="([^"]*)" classname="([^"]*)"[^>]*>(.*?)<\/testcase>/gs)];
  expect(tests.length).toBeGreaterThan(140);
  return tests.flatMap(([, section, title, result = ""]) =>
    /<failure|<error/.test(result) ? [`${section}: ${title}`] : [],
  );
}

it("h2spec finds only what nghttp2 answers in another way, in clear text", async () => {
  expect(await failures({})).toEqual([invalidPreface, ...answeredOtherwise]);
});

it("h2spec finds only what nghttp2 answers in another way, over TLS", async () => {
  expect(await failures({ tls }, "-t", "-k")).toEqual(answeredOtherwise);
});
