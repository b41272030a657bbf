import { cases, nextRequest, withFields } from "./wire-case.ts";

const chunkedBody = "5\r\nhello\r\n0\r\n\r\n";
const length = (value: string, body = "hello") => withFields(`Content-Length:${value}`, body);
const coding = (value: string, body = chunkedBody) => withFields(`Transfer-Encoding:${value}`, body);
const chunked = (body: string) => coding(" chunked", body);

export const lengthCases = cases([
  ["a body with a length", length(" 5") + nextRequest, "POST / <hello>", "GET /next"],
  ["a body with a length of nothing", length(" 0", "") + nextRequest, "POST /", "GET /next"],
  ["a GET with a body", withFields("Content-Length: 2", "hi", "GET / HTTP/1.1"), "GET / <hi>"],
  ["a body that is a request", length(` ${nextRequest.length}`, nextRequest), `POST / <${nextRequest}>`],
  ["a body that is cut", length(" 9"), "cut"],
  ["bytes after a request without a length", withFields("X: a", "hello\r\n"), "POST /", "StartLineInvalid"],
  ["a length with a plus", length(" +5"), "ContentLengthInvalid"],
  ["a length with a minus", length(" -5"), "ContentLengthInvalid"],
  ["a length with a space inside", length(" 5 0"), "ContentLengthInvalid"],
  ["a length with a comma", length(" 5,"), "ContentLengthInvalid"],
  ["a length twice in one line", length(" 5, 5"), "ContentLengthInvalid"],
  ["a length in hexadecimal", length(" 0x5"), "ContentLengthInvalid"],
  ["a length with an underscore", length(" 1_0"), "ContentLengthInvalid"],
  ["a length with a point", length(" 5.0"), "ContentLengthInvalid"],
  ["a length in quotes", length(' "5"'), "ContentLengthInvalid"],
  ["a length with a byte above ASCII", length(" \xb2"), "ContentLengthInvalid"],
  ["a length with a NUL", length(" 5\0"), "FieldValueInvalid"],
  ["a length with a vertical tab", length(" \x0b5"), "FieldValueInvalid"],
  ["an empty length", length(""), "ContentLengthInvalid"],
  ["a length with a leading zero", length(" 05"), "ContentLengthInvalid"],
  ["a length that overflows 64 bits", length(" 18446744073709551621"), "ContentLengthTooLarge"],
  ["a length past what a double can count", length(" 9007199254740992"), "ContentLengthTooLarge"],
  ["a length with a tab before it", length("\t5\t"), "POST / <hello>"],
  ["two lengths", withFields("Content-Length: 5\r\nContent-Length: 6", "hello"), "ContentLengthRepeated"],
  ["the same length twice", withFields("Content-Length: 5\r\ncontent-length: 5", "hello"), "ContentLengthRepeated"],
  [
    "a field name that resembles Content-Length",
    withFields("Content_Length: 5\r\nContent-Length: 0") + nextRequest,
    "POST /",
    "GET /next",
  ],
]);

const smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

export const codingCases = cases([
  ["a chunked body", chunked(chunkedBody) + nextRequest, "POST / <hello>", "GET /next"],
  ["chunked in capitals", coding(" CHUNKED"), "POST / <hello>"],
  ["chunked between spaces", coding("  chunked  "), "POST / <hello>"],
  ["chunked after a tab", coding("\tchunked"), "TransferEncodingInvalid"],
  ["chunked before a tab", coding(" chunked\t"), "TransferEncodingInvalid"],
  ["CL.TE", withFields("Content-Length: 6\r\nTransfer-Encoding: chunked", smuggled), "LengthAndTransferEncoding"],
  ["TE.CL", withFields("Transfer-Encoding: chunked\r\nContent-Length: 4", smuggled), "LengthAndTransferEncoding"],
  [
    "a length of nothing with chunked",
    withFields("Content-Length: 0\r\nTransfer-Encoding: chunked"),
    "LengthAndTransferEncoding",
  ],
  ["chunked twice", withFields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), "TransferEncodingRepeated"],
  [
    "chunked and then another line",
    withFields("Transfer-Encoding: chunked\r\nTransfer-Encoding: x"),
    "TransferEncodingRepeated",
  ],
  [
    "another line and then chunked",
    withFields("Transfer-Encoding: x\r\nTransfer-Encoding: chunked"),
    "TransferEncodingInvalid",
  ],
  ["chunked twice in one line", coding(" chunked, chunked"), "TransferEncodingInvalid"],
  ["chunked and a comma", coding(" chunked,"), "TransferEncodingInvalid"],
  ["a comma and chunked", coding(" ,chunked"), "TransferEncodingInvalid"],
  ["chunked that is not last", coding(" chunked, gzip"), "TransferEncodingInvalid"],
  ["another coding, and chunked last", coding(" gzip, chunked"), "TransferEncodingUnsupported"],
  ["identity", coding(" identity"), "TransferEncodingInvalid"],
  ["another coding alone", coding(" gzip"), "TransferEncodingInvalid"],
  ["an empty coding", coding(""), "TransferEncodingInvalid"],
  ["a coding that only ends like chunked", coding(" xchunked"), "TransferEncodingInvalid"],
  ["a coding that only begins like chunked", coding(" chunkedx"), "TransferEncodingInvalid"],
  ["chunked in quotes", coding(' "chunked"'), "TransferEncodingInvalid"],
  ["chunked with a parameter", coding(" chunked;q=1"), "TransferEncodingInvalid"],
  ["chunked after a vertical tab", coding(" \x0bchunked"), "FieldValueInvalid"],
  ["chunked after a NUL", coding(" \0chunked"), "FieldValueInvalid"],
  ["chunked with a byte above ASCII", coding(" chunked\xa0"), "TransferEncodingInvalid"],
  ["chunked before a bare CR", coding(" chunked\r"), "BareCr"],
  ["chunked after a bare LF", coding("\n chunked"), "BareLf"],
  ["a space before the colon", withFields("Transfer-Encoding : chunked", chunkedBody), "SpaceBeforeColon"],
  [
    "a name with an underscore",
    withFields("Transfer_Encoding: chunked\r\nContent-Length: 5", "hello"),
    "POST / <hello>",
  ],
  [
    "chunked in HTTP/1.0",
    `POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedBody}`,
    "TransferEncodingInHttp10",
  ],
]);

const allZeros = "0".repeat(17);

export const chunkCases = cases([
  [
    "several chunks",
    chunked("1\r\na\r\nA\r\n0123456789\r\n0\r\n\r\n") + nextRequest,
    "POST / <a0123456789>",
    "GET /next",
  ],
  ["no chunk but the last", chunked("0\r\n\r\n") + nextRequest, "POST /", "GET /next"],
  ["chunk sizes with zeros before them", chunked("0005\r\nhello\r\n000\r\n\r\n"), "POST / <hello>"],
  ["a chunk whose data resembles a last chunk", chunked("5\r\n0\r\n\r\n\r\n0\r\n\r\n"), "POST / <0\r\n\r\n>"],
  ["a chunk that is cut", chunked("5\r\nhe"), "cut"],
  ["an end that is cut", chunked("5\r\nhello\r\n0\r\n"), "cut"],
  ["a chunk size with 0x", chunked("0x5\r\nhello\r\n0\r\n\r\n"), "ChunkSizeInvalid"],
  ["a chunk size with a plus", chunked("+5\r\nhello\r\n0\r\n\r\n"), "ChunkSizeInvalid"],
  ["a chunk size with a minus", chunked("-5\r\nhello\r\n0\r\n\r\n"), "ChunkSizeInvalid"],
  ["a chunk size with a space before it", chunked(" 5\r\nhello\r\n0\r\n\r\n"), "ChunkSizeInvalid"],
  ["a chunk size with a space after it", chunked("5 \r\nhello\r\n0\r\n\r\n"), "ChunkSizeInvalid"],
  ["a chunk size with an underscore", chunked("1_0\r\nhello\r\n0\r\n\r\n"), "ChunkSizeInvalid"],
  ["an empty chunk size", chunked("\r\nhello\r\n0\r\n\r\n"), "ChunkSizeInvalid"],
  ["a chunk size that is no number", chunked("xyz\r\nhello\r\n0\r\n\r\n"), "ChunkSizeInvalid"],
  ["a chunk size that overflows 64 bits", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n"), "ChunkTooLarge"],
  ["a chunk size past what a double can count", chunked("20000000000000\r\nhello"), "ChunkTooLarge"],
  ["a chunk size of too many zeros", chunked(`${allZeros}\r\n\r\n`), "ChunkTooLarge"],
  ["a bare LF after a chunk size", chunked("5\nhello\r\n0\r\n\r\n"), "BareLf"],
  ["a bare CR after a chunk size", chunked("5\rhello\r\n0\r\n\r\n"), "BareCr"],
  ["two CRs after a chunk size", chunked("5\r\r\nhello\r\n0\r\n\r\n"), "BareCr"],
  ["a bare LF after a chunk", chunked("5\r\nhello\n0\r\n\r\n"), "BareLf"],
  ["a bare CR after a chunk", chunked("5\r\nhello\r0\r\n\r\n"), "BareCr"],
  ["nothing after a chunk", chunked("5\r\nhello0\r\n\r\n"), "ChunkEndMissing"],
  ["a chunk longer than its size", chunked("4\r\nhello\r\n0\r\n\r\n"), "ChunkEndMissing"],
  ["a bare LF after the last chunk", chunked("0\n\r\n"), "BareLf"],
  ["a bare LF for the last line", chunked("0\r\n\n"), "BareLf"],
  ["a bare CR for the last line", chunked(`0\r\n\r${nextRequest}`), "BareCr"],
]);

const quotedValue = '5;a="b;\\"\\\\";c\r\nhello\r\n0;d\r\n\r\n';

export const chunkExtensionCases = cases([
  ["extensions", chunked("5;a;b=c\r\nhello\r\n0;d=e\r\n\r\n") + nextRequest, "POST / <hello>", "GET /next"],
  ["an extension in quotes", chunked(quotedValue), "POST / <hello>"],
  ["an extension with a bare LF", chunked("5;a\nhello\r\n0\r\n\r\n"), "BareLf"],
  ["an extension with a bare LF in quotes", chunked('5;a="\n"\r\nhello\r\n0\r\n\r\n'), "BareLf"],
  ["an extension with a bare CR", chunked("5;a\rhello\r\n0\r\n\r\n"), "BareCr"],
  ["an extension with a CR in quotes", chunked('5;a="\r\n"\r\nhello\r\n0\r\n\r\n'), "ChunkExtensionInvalid"],
  ["an extension without a name", chunked("5;\r\nhello\r\n0\r\n\r\n"), "ChunkExtensionInvalid"],
  ["an extension without a value", chunked("5;a=\r\nhello\r\n0\r\n\r\n"), "ChunkExtensionInvalid"],
  ["an extension with blanks", chunked("5; a\r\nhello\r\n0\r\n\r\n"), "ChunkExtensionInvalid"],
  ["an extension with a NUL", chunked("5;a=\0\r\nhello\r\n0\r\n\r\n"), "ChunkExtensionInvalid"],
  ["an extension without its semicolon", chunked("5a=b\r\nhello\r\n0\r\n\r\n"), "ChunkSizeInvalid"],
  ["an extension without end", chunked(`5;${"a".repeat(300)}\r\nhello\r\n0\r\n\r\n`), "ChunkExtensionsTooLong"],
  [
    "extensions in every one of many chunks",
    chunked(`1;${"a".repeat(200)}\r\nx\r\n`.repeat(30)),
    "ChunkExtensionsTooLong",
  ],
]);

const trailer = (lines: string) => chunked(`5\r\nhello\r\n0\r\n${lines}\r\n`);

export const trailerCases = cases([
  ["trailers", trailer("X-A: b\r\nX-C:d \r\n") + nextRequest, "POST / <hello> trailers X-A b X-C d", "GET /next"],
  ["a trailer that frames", trailer("Content-Length: 5\r\n"), "TrailerForbidden"],
  ["a trailer that frames another way", trailer("transfer-encoding: chunked\r\n"), "TrailerForbidden"],
  ["a trailer that routes", trailer("HOST: b\r\n"), "TrailerForbidden"],
  ["a trailer that routes to a sandbox", trailer("X-Sandbox-ID: b\r\n"), "TrailerForbidden"],
  ["a trailer that authenticates", trailer("Authorization: b\r\n"), "TrailerForbidden"],
  ["a trailer that is folded", trailer("X: a\r\n b\r\n"), "LineFolded"],
  ["a trailer with a bare LF", trailer("X: a\nY: b\r\n"), "BareLf"],
  ["a trailer with a space before its colon", trailer("X : a\r\n"), "SpaceBeforeColon"],
  ["a trailer without a name", trailer(": a\r\n"), "FieldNameEmpty"],
  ["a trailer with a NUL", trailer("X: \0\r\n"), "FieldValueInvalid"],
  ["a request in place of trailers", chunked(`0\r\n${nextRequest}`), "SpaceBeforeColon"],
  ["too many trailers", trailer("X: a\r\n".repeat(33)), "TooManyFields"],
  ["trailers too large", trailer(`X: ${"a".repeat(8_192)}\r\n`), "SectionTooLarge"],
]);
