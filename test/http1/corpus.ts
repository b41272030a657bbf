import { chunkCases, chunkExtensionCases, codingCases, lengthCases, trailerCases } from "./body-cases.ts";
import { connectionCases, fieldCases } from "./field-cases.ts";
import { hostCases, requestLineCases, targetFormCases } from "./request-line-cases.ts";
import { responseCases } from "./response-cases.ts";
import type { WireCase } from "./wire-case.ts";
import type { Side } from "./wire-reader.ts";

export interface CorpusPart {
  readonly about: string;
  readonly side: Side;
  readonly cases: readonly WireCase[];
}

/** The known cases of request smuggling, and related rules. */
export const corpus: readonly CorpusPart[] = [
  { about: "a request line", side: "request", cases: requestLineCases },
  { about: "a request target", side: "request", cases: targetFormCases },
  { about: "a Host", side: "request", cases: hostCases },
  { about: "a field", side: "request", cases: fieldCases },
  { about: "a connection", side: "request", cases: connectionCases },
  { about: "a Content-Length", side: "request", cases: lengthCases },
  { about: "a Transfer-Encoding", side: "request", cases: codingCases },
  { about: "a chunk", side: "request", cases: chunkCases },
  { about: "a chunk extension", side: "request", cases: chunkExtensionCases },
  { about: "a trailer section", side: "request", cases: trailerCases },
  { about: "a response", side: "response", cases: responseCases },
];
