import { describe, expect, it } from "vitest";
import type { HeaderPair, RequestHead } from "../request.ts";
import { toResponse } from "./error-response.ts";
import { ActivatorError, activatorErrors, type ErrorCode } from "./errors-for-clients.ts";
import { prefersPage } from "./html-page.ts";
import { isNavigation } from "./wait-page.ts";

function head(headers: Record<string, string>, method = "GET"): RequestHead {
  const pairs: HeaderPair[] = Object.entries(headers);
  return { method, protocol: "HTTP/1.1", target: "/", host: "any", headers: pairs, peer: "", upgrade: false };
}

describe("a response of the activator", () => {
  it.each([
    ["text/html", true],
    ["text/html,application/xhtml+xml,*/*;q=0.8", true],
    ["application/json, text/html;q=0.9", false],
    ["text/html;q=0", false],
    ["*/*", false],
    ["", false],
  ])("is a page for Accept: %s? %s", (accept, page) => {
    expect(prefersPage([["Accept", accept]])).toBe(page);
  });

  it.each(Object.keys(activatorErrors) as ErrorCode[])("has one key of JSON with the text of %s", (code) => {
    const { status, headers, body } = toResponse(new ActivatorError(code, { subject: "nova", because: "it rains" }));
    expect(JSON.parse(body)).toEqual({ detail: expect.stringMatching(/./) });
    expect(headers).toContainEqual(["X-Rouse-Reason", code]);
    expect(status === 503).toBe(headers.some(([name]) => name === "Retry-After"));
  });

  it.each([
    ["WrongToken", ["WWW-Authenticate", "Bearer"]],
    ["MissingCredentials", ["WWW-Authenticate", "Bearer"]],
    ["MethodNotAllowed", ["Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"]],
  ] as const)("has the field that its status requires: %s", (code, field) => {
    expect(toResponse(new ActivatorError(code)).headers).toContainEqual(field);
  });

  it.each(Object.keys(activatorErrors) as ErrorCode[])("tells the known cause of %s", (code) => {
    const { detail } = new ActivatorError(code, { subject: "nova", because: "it rains" });
    expect(detail).toMatch(/[^.]: it rains$/);
  });

  it("shows a cause as text, never as markup, and at most one line of it", () => {
    const error = new ActivatorError("ContainerFailed", { subject: "nova", because: `<script>${"a".repeat(999)}` });
    const { body } = toResponse(error, head({ Accept: "text/html" }));
    expect(body).not.toContain("<script>");
    expect(error.detail.length).toBeLessThan(400);
  });

  it("keeps its cause for the log", () => {
    const error = new ActivatorError("WakeRefused", { subject: "nova", cause: new Error("rbac: secret detail") });
    expect(toResponse(error).body).not.toContain("secret");
  });
});

it("only a person who opens a page navigates", () => {
  const page = { Accept: "text/html", "Sec-Fetch-Mode": "navigate" };
  expect(isNavigation(head(page))).toBe(true);
  expect(isNavigation(head(page, "POST"))).toBe(false);
  expect(isNavigation(head({ Accept: "text/html" }))).toBe(false);
  expect(isNavigation(head({ ...page, Accept: "application/json" }))).toBe(false);
});
