import { cases } from "./wire-case.ts";

const ok = "HTTP/1.1 200 OK\r\n";
const next = "HTTP/1.1 204 No Content\r\n\r\n";
const head = { isHead: true, askedUpgrade: false };
const upgrade = { isHead: false, askedUpgrade: true };

export const responseCases = [
  ...cases([
    ["a response with a length", `${ok}Content-Length: 5\r\n\r\nhello${next}`, "200 <hello>", "204"],
    [
      "a chunked response",
      `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: a\r\n\r\n${next}`,
      "200 <hello> trailers X a",
      "204",
    ],
    ["a response without a length", `${ok}\r\nhello${next}`, `200 <hello${next}>`],
    ["a response without anything", `${ok}\r\n`, "200"],
    ["a response with a length that is cut", `${ok}Content-Length: 9\r\n\r\nhello`, "cut"],
    [
      "an interim response",
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n${next}`,
      "100",
      "103",
      "204",
    ],
    [
      "304 with the length of what it stands for",
      `HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n${next}`,
      "304",
      "204",
    ],
    [
      "304 with a coding, after which nothing is believed",
      `HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n${next}`,
      "304",
    ],
    [
      "304 with a coding twice",
      "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      "TransferEncodingRepeated",
    ],
    ["204 with a length of nothing", `HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n${next}`, "204", "204"],
    ["204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", "BodyForbidden"],
    ["204 with a coding", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "BodyForbidden"],
    ["100 with a length", "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhello", "BodyForbidden"],
    ["101 without a request for it", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\n\r\n", "UpgradeNotAsked"],
    ["a response to close after", `${ok}Connection: close\r\nContent-Length: 0\r\n\r\n${next}`, "200"],
    ["HTTP/1.0", `HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n${next}`, "200"],
    [
      "HTTP/1.0 kept alive",
      `HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n${next}`,
      "200",
      "204",
    ],
    [
      "chunked in HTTP/1.0",
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "TransferEncodingInHttp10",
    ],
    [
      "a length and a coding",
      `${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      "LengthAndTransferEncoding",
    ],
    ["two lengths", `${ok}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`, "ContentLengthRepeated"],
    ["a coding that is not chunked", `${ok}Transfer-Encoding: gzip\r\n\r\nhello`, "TransferEncodingInvalid"],
    ["a Host in a response, twice", `${ok}Host: a\r\nHost: b\r\nContent-Length: 0\r\n\r\n`, "200"],
  ]),
  ...cases([
    ["no phrase", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200"],
    ["no phrase and no space", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "200"],
    ["a phrase with bytes above ASCII", "HTTP/1.1 200 \xe4\t!\r\nContent-Length: 0\r\n\r\n", "200"],
    ["a phrase with a NUL", "HTTP/1.1 200 a\0\r\n\r\n", "ReasonPhraseInvalid"],
    ["a status that no class has", "HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n", "999"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", "StatusInvalid"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", "StatusInvalid"],
    ["a status below 100", "HTTP/1.1 099 OK\r\n\r\n", "StatusInvalid"],
    ["a status with a sign", "HTTP/1.1 +20 OK\r\n\r\n", "StatusInvalid"],
    ["a tab after the status", "HTTP/1.1 200\tOK\r\n\r\n", "StatusInvalid"],
    ["two spaces before the status", "HTTP/1.1  200 OK\r\n\r\n", "StatusInvalid"],
    ["a bare LF after the phrase", "HTTP/1.1 200 OK\n\r\n", "BareLf"],
    ["a bare LF after the status", "HTTP/1.1 200\n\r\n", "BareLf"],
    ["a bare CR after the phrase", "HTTP/1.1 200 OK\rX: a\r\n\r\n", "BareCr"],
    ["an empty line before a response", `\r\n${next}`, "VersionInvalid"],
    ["a response of HTTP/0.9", "hello", "VersionInvalid"],
    ["version 2", "HTTP/2 200\r\n\r\n", "VersionInvalid"],
    ["version 2.0", "HTTP/2.0 200 OK\r\n\r\n", "VersionUnsupported"],
    ["a status line cut", "HTTP/1.1 20", "cut"],
    ["a folded line", `${ok}X: a\r\n b\r\n\r\n`, "LineFolded"],
    ["a space before a colon", `${ok}X : a\r\n\r\n`, "SpaceBeforeColon"],
  ]),
  ...cases(
    [
      ["an answer to HEAD with a length", `${ok}Content-Length: 5\r\n\r\n${next}`, "200", "204"],
      ["an answer to HEAD without a length, after which nothing is believed", `${ok}\r\n${next}`, "200"],
      [
        "an answer to HEAD with a coding, after which nothing is believed",
        `${ok}Transfer-Encoding: chunked\r\n\r\n${next}`,
        "200",
      ],
    ],
    head,
  ),
  ...cases(
    [
      [
        "101 and what follows it",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\nbytes",
        "101",
      ],
      ["an upgrade that is not granted", `${ok}Content-Length: 5\r\n\r\nhello${next}`, "200 <hello>", "204"],
    ],
    upgrade,
  ),
];
