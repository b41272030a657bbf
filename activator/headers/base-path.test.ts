import { describe, expect, it } from "vitest";
import { type BasePath, clientView, cookiesWithout, fieldFor } from "./base-path.ts";

const base: BasePath = {
  ...{ text: "/s/lab/nova/8888/", rewritesResponses: true, sessionCookie: "door", podAuthority: "[fd00::7]:8888" },
};
const view = { host: "Sandboxes.example:8443", base };
const field = (name: string, value: string, changes: Partial<BasePath> = {}) =>
  fieldFor({ ...view, base: { ...base, ...changes } }, name, value);

describe("a Location of a sandbox that a path named", () => {
  it.each([
    ["/", "/s/lab/nova/8888/"],
    ["/login?next=/#top", "/s/lab/nova/8888/login?next=/#top"],
    ["//sandboxes.EXAMPLE:8443/a//b", "/s/lab/nova/8888/a//b"],
    ["https://sandboxes.example:8443", "/s/lab/nova/8888/"],
    ["HTTP://[FD00::7]:8888?x=1", "/s/lab/nova/8888/?x=1"],
    ["/s/lab/other/8888/", "/s/lab/nova/8888/s/lab/other/8888/"],
    ["/s/lab/nova/88888/", "/s/lab/nova/8888/s/lab/nova/88888/"],
    ["/\\evil.example/", "/s/lab/nova/8888/\\evil.example/"],
    ["/\t/evil.example/", "/s/lab/nova/8888/\t/evil.example/"],
    ["http://sandboxes.example:8443\\@evil.example/", "/s/lab/nova/8888/\\@evil.example/"],
  ])("that is of its own is moved below the path: %j", (value, moved) => {
    expect(field("location", value)).toBe(moved);
  });

  it.each([
    ...["/s/lab/nova/8888", "/s/lab/nova/8888/x", "/s/lab/nova/8888?x", "/s/lab/nova/8888#x"],
    ...["login", "../up", "?page=2", "#top", "", "mailto:ada@example.org", "https://evil.example/", "//evil.example/x"],
    ...["https://sandboxes.example.evil.example:8443/", "https://sandboxes.example/", "//ada@sandboxes.example:8443/"],
    ...["https:/login", "\\\\evil.example"],
  ])("that is below the path already, relative or of another host stays: %j", (value) => {
    expect(field("location", value)).toBe(value);
  });

  it("stays without rewriting", () => {
    expect(field("location", "/login", { rewritesResponses: false })).toBe("/login");
  });
});

describe("a cookie of a sandbox that a path named", () => {
  it.each([
    ["a=1", "a=1"],
    ["a=1; Path=/", "a=1; Path=/s/lab/nova/8888/"],
    ["a=1;path = /app ;Secure", "a=1;path = /s/lab/nova/8888/app ;Secure"],
    ["a=1; Path=/s/lab", "a=1; Path=/s/lab/nova/8888/s/lab"],
    ["a=1; Path=/; Path=/s", "a=1; Path=/s/lab/nova/8888/; Path=/s/lab/nova/8888/s"],
    ["a=1; Path=/s/lab/nova/8888/x", "a=1; Path=/s/lab/nova/8888/x"],
    ["a=1; Path=x; Path=", "a=1; Path=x; Path="],
    ["a=path=/; X-Path=/", "a=path=/; X-Path=/"],
    ["a=1; Domain=example; Path=/", "a=1; Path=/s/lab/nova/8888/"],
    ["Door=1", "Door=1"],
    ["doors=1", "doors=1"],
    ["=doors=1", "=doors=1"],
    ["a=door=1", "a=door=1"],
    ["door", "door"],
  ])("belongs to that path and its host: %j", (value, moved) => {
    expect(field("set-cookie", value)).toBe(moved);
  });

  it.each(["door=1", " door = 1; Path=/", "door=", "\tdoor=1; HttpOnly", "=door=1", " = door =1; Path=/", "=door="])(
    "that browsers send as the activator's own is dropped, also without rewriting: %j",
    (value) => {
      expect(field("set-cookie", value)).toBeUndefined();
      expect(field("set-cookie", value, { rewritesResponses: false })).toBeUndefined();
      expect(field("set-cookie", value, { sessionCookie: undefined })).toBeDefined();
    },
  );
});

describe("the cookies of a request", () => {
  it.each([
    ["a=1; door=x; b=2", "a=1; b=2"],
    ["door=x; b=2", "b=2"],
    ["a=1;door=x", "a=1"],
    ["door=x", undefined],
    ["door=x; door = y;door", "door"],
    ["a=door=x; Door=1; doors=2", "a=door=x; Door=1; doors=2"],
    ["", ""],
  ])("lose the activator's own alone: %j", (value, kept) => {
    expect(cookiesWithout("door", value)).toBe(kept);
  });
});

it("fields change only if the host or the path named the sandbox, and workers only if the path did", () => {
  expect(clientView(view, { byHost: false })).toBeUndefined();
  const byHost = clientView(view, { byHost: true });
  expect(byHost && fieldFor(byHost, "service-worker-allowed", "/")).toBe("/");
  expect(byHost && fieldFor(byHost, "location", "/login")).toBe("/login");
  expect(field("service-worker-allowed", "/")).toBeUndefined();
  expect(field("x-a", "1")).toBe("1");
});

it("a sandbox that headers name sets no cookie of the activator, and keeps its own fields", () => {
  const shared = clientView({ host: "door.example" }, { byHost: false, shared: { sessionCookie: "door" } });
  const kept = [
    ["set-cookie", "a=door; Path=/"],
    ["location", "/login"],
    ["x-a", "b"],
  ] as const;
  const dropped = [
    ["set-cookie", "door=mine; Path=/s/default/other/8888/"],
    ["set-cookie", "=door=mine"],
    ["nel", "{}"],
  ] as const;
  if (!shared) throw new Error("no view");
  expect(kept.map(([name, value]) => fieldFor(shared, name, value))).toEqual(kept.map(([, value]) => value));
  expect(dropped.map(([name, value]) => fieldFor(shared, name, value))).toEqual([undefined, undefined, undefined]);
});
