import { expect, it } from "vitest";
import { ApiError, isDryRunUnsupported, isRejectedForGood } from "./errors.ts";

const answer = (code: number, message = "no", details = {}) =>
  new ApiError(code, { apiVersion: "v1", kind: "Status", code, message, details });

it.each([
  { what: "a webhook that gives no code", error: answer(400) },
  { what: "a policy", error: answer(403) },
  { what: "the right of the caller", error: answer(403, "pods is forbidden") },
  { what: "the size", error: answer(413) },
  { what: "the schema", error: answer(422) },
])("what is refused for $what would be refused again", ({ error }) => {
  expect(isRejectedForGood(error)).toBe(true);
});

it.each([
  { what: "a conflict", error: answer(409) },
  { what: "too many calls", error: answer(429) },
  { what: "a webhook that does not answer", error: answer(500) },
  { what: "a server that is away", error: new Error("connection refused") },
  { what: "a full quota", error: answer(403, 'pods "a" is forbidden: exceeded quota: q, requested: pods=1') },
  { what: "a new quota", error: answer(403, 'pods "a" is forbidden: status unknown for quota: q, resources: pods') },
  { what: "the end of its namespace", error: answer(403, "no", { causes: [{ reason: "NamespaceTerminating" }] }) },
])("what fails because of $what may be accepted later, or nothing is", ({ error }) => {
  expect(isRejectedForGood(error)).toBe(false);
});

it("a webhook without dry runs is not a webhook that rejects a dry run", () => {
  const unsupported = 'admission webhook "a.example.com" does not support dry run';
  expect(isDryRunUnsupported(answer(400, unsupported))).toBe(true);
  const denied = `admission webhook "b.example.com" denied the request: ${unsupported}`;
  expect(isDryRunUnsupported(answer(400, denied))).toBe(false);
  expect(isDryRunUnsupported(answer(403, unsupported))).toBe(false);
});
