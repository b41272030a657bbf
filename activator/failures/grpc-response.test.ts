import { expect, it } from "vitest";
import { ActivatorError, activatorErrors, type ErrorCode } from "./errors-for-clients.ts";
import { grpcTrailers } from "./grpc-response.ts";

const statusOf = (code: ErrorCode, isLate = false) => {
  const [[, status]] = grpcTrailers(new ActivatorError(code, { subject: "nova" }), isLate);
  return Number(status);
};

it("each status of HTTP that an error has is a status of gRPC", () => {
  const codes = Object.keys(activatorErrors) as ErrorCode[];
  const pairs = new Map(codes.map((code) => [activatorErrors[code].status, statusOf(code)]));
  const table =
    "400 3, 401 16, 403 7, 404 5, 405 13, 408 13, 409 13, 410 13, 413 8, 414 13, 417 13, 424 13, 431 13, 500 13";
  const ofFailures = "502 14, 503 14, 504 4";
  const lines = [...pairs].map((pair) => pair.join(" ")).sort();
  expect(lines.join(", ")).toBe(`${table}, ${ofFailures}`);
});

it("an error whose time the client has set is DEADLINE_EXCEEDED once that is over", () => {
  expect([statusOf("WakeTimedOut"), statusOf("WakeTimedOut", true)]).toEqual([14, 4]);
  expect(statusOf("ContainerFailed", true)).toBe(14);
});
