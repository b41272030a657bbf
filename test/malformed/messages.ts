import type { SeededRandom } from "../support/seeded-random.ts";

const crlf = "\r\n";
const host = `Host: a${crlf}`;
const deep = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

const requestLines = [
  "GET //",
  "GET ///metrics",
  "GET /\\\\",
  "GET http://[",
  "GET http://",
  "GET http://a:99999/",
  "GET http://%/",
  "OPTIONS *",
  "CONNECT a:443",
  "CONNECT /",
  "GET *",
  "GET ?",
  "GET #",
  "GET /%",
  "GET /%ff%00",
  "GET /?%",
  "GET /?seconds=NaN&labelSelector=((((&limit=-1&watch=maybe&resourceVersion=x",
  "GET /api/v1/pods?fieldSelector=%",
  "GET /debug/pprof/profile?seconds=-1",
  "HEAD //",
  "TRACE /",
  "PRI *",
  "get /",
  "",
];

const plainHeads = requestLines.map((line) => `${line} HTTP/1.1${crlf}${host}${crlf}`);

const heads = [
  ...requestLines.flatMap((line) => [`${line} HTTP/1.0${crlf}${crlf}`, `${line} HTTP/9.9${crlf}${host}${crlf}`]),
  `GET / HTTP/1.1${crlf}`,
  `GET / HTTP/1.1${crlf}Host:`,
  `GET / HTTP/1.1${crlf}Host: [${crlf}${crlf}`,
  `GET / HTTP/1.1${crlf}Host: a${crlf}Host: b${crlf}${crlf}`,
  `GET / HTTP/1.1${crlf}${crlf}`,
  `GET / HTTP/1.1${crlf}${host}X: ${"x".repeat(100_000)}${crlf}${crlf}`,
  `GET /${"x".repeat(100_000)} HTTP/1.1${crlf}${host}${crlf}`,
  `GET / HTTP/1.1${crlf}${"A: b\r\n".repeat(5_000)}${crlf}`,
  `GET / HTTP/1.1${crlf}${host}Upgrade: websocket${crlf}Connection: upgrade${crlf}${crlf}`,
  `GET / HTTP/1.1${crlf}${host}Upgrade: h2c${crlf}Connection: upgrade, http2-settings${crlf}${crlf}`,
  `POST / HTTP/1.1${crlf}${host}Expect: 100-continue${crlf}Content-Length: 5${crlf}${crlf}`,
  `GET / HTTP/1.1${crlf}${host}Authorization: Bearer ${crlf}X-Sandbox-ID: ../..${crlf}${crlf}`,
];

/** The paths of the programs that accept calls with a body. */
const postPaths = [
  "/convert",
  "/drain/v1/observed",
  "/drain/v1/promise",
  "/drain/v1/activity",
  "/drain/v1/listening",
  "/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes",
  "/",
];

const bodies = [
  "",
  "{",
  "null",
  "0",
  '"text"',
  "[]",
  "{}",
  deep(20_000),
  `{"request":${deep(2_000)}}`,
  '{"request":null}',
  '{"request":{"uid":1,"desiredAPIVersion":{},"objects":7}}',
  '{"request":{"uid":"u","desiredAPIVersion":"agents.x-k8s.io/v1beta1","objects":[null,1,[],{"kind":"Sandbox"}]}}',
  `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"agents.x-k8s.io/v1beta1","objects":[{"apiVersion":"agents.x-k8s.io/v1alpha1","kind":"Sandbox","metadata":null,"spec":${deep(500)}}]}}`,
  '{"__proto__":{"polluted":true},"ports":[{"activatorPort":"x"}],"podUids":{"length":1e9}}',
  '{"metadata":{"name":"a"},"spec":{"podTemplate":{"spec":{"containers":{}}}}}',
  "\u0000\uffff\ud800",
];

const posts = postPaths.flatMap((path) =>
  bodies.flatMap((body) => {
    const start = `POST ${path} HTTP/1.1${crlf}${host}`;
    const length = Buffer.byteLength(body);
    return [
      `${start}Content-Type: application/json${crlf}Content-Length: ${length}${crlf}${crlf}${body}`,
      `${start}Content-Type: ;;=${crlf}Content-Length: ${length + 10}${crlf}${crlf}${body}`,
      `${start}Transfer-Encoding: chunked${crlf}${crlf}${length.toString(16)}${crlf}${body}${crlf}zz${crlf}`,
    ];
  }),
);

/** The start of a TLS 1.3 ClientHello (RFC 8446, section 4.1.2), and invalid records. */
const tlsRecords = [
  "16030100f8010000f40303",
  "160301ffff0100",
  "1603010005010000010000",
  "15030100020228",
  "17030300050000000000",
  "80",
];

/** Headers of the PROXY protocol, version 2: of a wrong family, cut within its addresses, and with a part that ends beyond it. */
const proxyHeaders = ["ff21", "2111000c01020304", "2111000f0102030405060708000100020400ff", "2111ffff"].map(
  (hex) => `0d0a0d0a000d0a515549540a${hex}`,
);

const others = [
  "",
  "\r\n\r\n",
  "\0",
  "SSH-2.0-OpenSSH_9.9\r\n",
  "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
  "PROXY TCP6 1.2.3.4 ::1 1 99999\r\n",
  `PROXY UNKNOWN ${"x".repeat(200)}`,
  "PROXY",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
];

/** The messages for every port. */
export const always: readonly Buffer[] = [
  ...[...plainHeads, ...others].map((text) => Buffer.from(text)),
  ...[...tlsRecords, ...proxyHeaders].map((hex) => Buffer.from(hex, "hex")),
];

/** Messages that must end no program, on any port. */
export const corpus: readonly Buffer[] = [...always, ...[...heads, ...posts].map((text) => Buffer.from(text))];

/** A message of the given ones that is truncated, changed in some bytes, or followed by another one. */
export function generate(random: SeededRandom, among: readonly Buffer[]): Buffer {
  const message = Buffer.from(random.oneOf(among));
  switch (random.below(3)) {
    case 0:
      return message.subarray(0, random.below(message.length + 1));
    case 1:
      return Buffer.concat([message, random.oneOf(among)]);
    default: {
      for (let changes = random.below(6); changes >= 0 && message.length > 0; changes -= 1) {
        message[random.below(message.length)] = random.below(256);
      }
      return message;
    }
  }
}
