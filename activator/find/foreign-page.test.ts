import { describe, expect, it } from "vitest";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import type { HeaderPair } from "../request.ts";
import { type FindOptions, find } from "./find.ts";

const options = {
  ...{ domain: "sandbox.localhost", clusterDomain: "cluster.local", serviceNames: [], allowLoopbackPodIp: true },
  headerHosts: ["localhost", "127.0.0.1", "box.example"],
  refusesForeignPages: true,
};

/** The error of a request to nova with these headers; "found" if there is none. */
function answer(headers: readonly HeaderPair[], changes: Partial<FindOptions> = {}): string {
  const host = "nova.lab.sandbox.localhost:8080";
  const head = {
    method: "POST",
    protocol: "HTTP/1.1" as const,
    target: "/",
    host,
    headers,
    peer: "127.0.0.1",
    upgrade: false,
  };
  const lookup = { sandbox: () => undefined, claimed: () => undefined };
  try {
    return find(head, { ...options, ...changes }, lookup).name === "nova" ? "found" : "another";
  } catch (error) {
    return error instanceof ActivatorError ? error.code : String(error);
  }
}

const crossSite = (...more: readonly HeaderPair[]): HeaderPair[] => [["Sec-Fetch-Site", "cross-site"], ...more];
const openedAs = (destination: string): HeaderPair[] =>
  crossSite(["Sec-Fetch-Mode", "navigate"], ["Sec-Fetch-Dest", destination]);

describe("an activator that refuses foreign pages", () => {
  it.each<readonly [what: string, headers: readonly HeaderPair[]]>([
    ["of another origin", [["Origin", "https://evil.example"]]],
    ["of a name that looks like ours", [["origin", "http://localhost.evil.example"]]],
    ["of a name in the cluster", [["Origin", "http://nova.lab.svc"]]],
    ["of an origin that is hidden", [["Origin", "null"]]],
    ["of an extension", [["Origin", "chrome-extension://localhost"]]],
    [
      "of two origins",
      [
        ["Origin", "http://localhost"],
        ["Origin", "https://evil.example"],
      ],
    ],
    ["that loads an image", crossSite(["Sec-Fetch-Mode", "no-cors"], ["Sec-Fetch-Dest", "image"])],
    ["that names itself as a referrer", crossSite(["Referer", "https://evil.example/localhost"])],
    ["that shows the sandbox in a frame", openedAs("iframe")],
  ])("refuses the request of a page %s", (_what, headers) => {
    expect(answer(headers)).toBe("ForeignOrigin");
  });

  it.each<readonly [what: string, headers: readonly HeaderPair[]]>([
    ["of a program that is no browser", []],
    [
      "of a page of the same sandbox",
      [
        ["Origin", "http://nova.lab.sandbox.localhost:8080"],
        ["Sec-Fetch-Site", "same-origin"],
      ],
    ],
    ["of a page of another port", [["Origin", "http://3000--nova--lab.sandbox.localhost:8080"]]],
    [
      "of a page of this machine",
      [
        ["Origin", "http://localhost:3000"],
        ["Sec-Fetch-Site", "cross-site"],
      ],
    ],
    ["of an image on such a page", crossSite(["Referer", "http://localhost:3000/page"])],
    ["of a page of a listed host", [["Origin", "https://box.example"]]],
    ["that a user typed or opened from a bookmark", [["Sec-Fetch-Site", "none"]]],
    ["that opens a link of any page", openedAs("document")],
  ])("serves the request %s", (_what, headers) => {
    expect(answer(headers)).toBe("found");
  });

  it("refuses pages of all hosts but those of sandboxes if none are listed", () => {
    const unlisted = { headerHosts: undefined };
    expect(answer([["Origin", "http://localhost:3000"]], unlisted)).toBe("ForeignOrigin");
    expect(answer([["Origin", "http://nova.lab.sandbox.localhost"]], unlisted)).toBe("found");
  });

  it("does so only with its flag", () => {
    expect(answer([["Origin", "https://evil.example"]], { refusesForeignPages: false })).toBe("found");
  });
});
