import { describe, expect, it } from "vitest";
import { ActivatorError } from "../../failures/errors-for-clients.ts";
import type { FindOptions } from "../../find/find.ts";
import type { HeaderPair, RequestHead } from "../../request.ts";
import { answerToPreflight, refuseMarkedRequest } from "./preflight.ts";
import { webCallReader } from "./read-web-call.ts";

const domains = { domain: "sandbox.example.com", clusterDomain: "cluster.local", serviceNames: ["router"] };
const pages: FindOptions = { ...domains, allowLoopbackPodIp: false, webOrigins: ["https://app.example.com"] };
const service = "50051--nova--team.sandbox.example.com";

const asked: readonly HeaderPair[] = [
  ["Access-Control-Request-Method", "POST"],
  ["Access-Control-Request-Headers", "authorization,content-type,X-Grpc-Web, x-b@d"],
];

function headWith(headers: readonly HeaderPair[], changed: Partial<RequestHead> = {}): RequestHead {
  const head = { method: "OPTIONS", protocol: "HTTP/1.1", target: "/a.B/C", host: service, headers } as const;
  return { ...head, peer: "::1", upgrade: false, ...changed };
}

/** What a page of that origin gets: the headers, an error, or nothing, if the request is no preflight. */
function heard(origin: string, options: FindOptions = pages, changed: Partial<RequestHead> = {}) {
  try {
    const head = headWith([["Origin", origin], ...asked], changed);
    const answer = answerToPreflight(head, options);
    return answer && Object.fromEntries(answer.headers);
  } catch (error) {
    return error instanceof ActivatorError ? error.code : error;
  }
}

describe("the preflight of a call of gRPC-Web", () => {
  it("permits pages of the same sandbox and of listed origins, without the credentials of a browser", () => {
    for (const origin of ["https://nova.team.sandbox.example.com", "http://80--nova--team.sandbox.example.com:8080"]) {
      expect(heard(origin)).toEqual({
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": "POST",
        "Access-Control-Allow-Headers": "authorization, content-type, x-grpc-web",
        "Access-Control-Max-Age": "0",
        Vary: "Origin",
      });
    }
    expect(heard("https://app.example.com", pages, { host: "router.example.com" })).toMatchObject({
      "Access-Control-Allow-Origin": "https://app.example.com",
    });
  });

  it.each([
    "https://evil.example",
    "https://lab.team.sandbox.example.com",
    "https://nova.other.sandbox.example.com",
    "https://app.example.com.evil.example",
    "https://nova.team.sandbox.example.com/",
    "https://nova.team.sandbox.example.com@evil.example",
    "ftp://nova.team.sandbox.example.com",
    "null",
    "",
  ])("permits nothing to a page of %j", (origin) => {
    expect(heard(origin)).toBe("ForeignOrigin");
  });

  it("permits nothing over TLS to a page of the sandbox without TLS", () => {
    const secure = { scheme: "https" } as const;
    expect(heard("http://nova.team.sandbox.example.com", pages, secure)).toBe("ForeignOrigin");
    expect(heard("https://nova.team.sandbox.example.com", pages, secure)).toMatchObject({ Vary: "Origin" });
    const listed = { ...pages, webOrigins: ["http://app.example.com"] };
    expect(heard("http://app.example.com", listed, secure)).toMatchObject({ Vary: "Origin" });
  });

  it("permits every page if all origins are listed", () => {
    const all = { ...pages, webOrigins: ["*"] };
    expect(heard("https://evil.example", all)).toMatchObject({ "Access-Control-Allow-Origin": "https://evil.example" });
  });

  it("permits nothing to foreign pages if those are refused, listed or not", () => {
    const refusing = { ...pages, refusesForeignPages: true, headerHosts: ["localhost"] };
    expect(heard("https://app.example.com", refusing)).toBe("ForeignOrigin");
    expect(heard("https://nova.team.sandbox.example.com", refusing)).toMatchObject({ Vary: "Origin" });
  });

  it("permits nothing to a page that only names the sandbox of a host which is no name of one", () => {
    for (const host of ["router.example.com", "", "nova.team.svc", "x.y.z.sandbox.example.com", "bad host"]) {
      expect(heard("https://nova.team.sandbox.example.com", pages, { host })).toBe("ForeignOrigin");
    }
  });

  it("is a request like any other if it is not one of gRPC-Web, or these calls are disabled", () => {
    expect(heard("https://evil.example", { ...pages, webOrigins: undefined })).toBeUndefined();
    expect(heard("https://evil.example", pages, { method: "POST" })).toBeUndefined();
    const others: readonly (readonly HeaderPair[])[] = [
      [],
      [["Access-Control-Request-Method", "POST"]],
      [
        ["Access-Control-Request-Method", "PUT"],
        ["Access-Control-Request-Headers", "x-grpc-web"],
      ],
    ];
    for (const headers of others) {
      expect(answerToPreflight(headWith([["Origin", "https://evil.example"], ...headers]), pages)).toBeUndefined();
    }
  });
});

describe("a request with the mark of gRPC-Web that is no call of it", () => {
  const marked = (origin: string | undefined, changed: Partial<RequestHead> = {}) => {
    const headers: HeaderPair[] = [["X-Grpc-Web", "1"]];
    if (origin !== undefined) headers.push(["Origin", origin]);
    try {
      refuseMarkedRequest(headWith(headers, { method: "POST", ...changed }), pages);
      return "served";
    } catch (error) {
      return error instanceof ActivatorError ? error.code : error;
    }
  };

  it("is refused to pages of other origins, permitted ones too", () => {
    const foreign = ["https://app.example.com", "https://8080--nova--team.sandbox.example.com", "null", ""];
    for (const origin of foreign) expect([origin, marked(origin)]).toEqual([origin, "ForeignOrigin"]);
    expect(marked("https://app.example.com", { grpc: { timeoutMs: undefined } })).toBe("ForeignOrigin");
    expect(marked(`http://${service}`, { scheme: "https" })).toBe("ForeignOrigin");
    expect(marked(`https://${service}:8443`)).toBe("ForeignOrigin");
  });

  it("is served to its own origin, and to programs that are no page", () => {
    for (const origin of [undefined, `http://${service}`, `https://${service}`, `HTTPS://${service}:443`])
      expect([origin, marked(origin)]).toEqual([origin, "served"]);
    expect(marked(`https://${service}`, { scheme: "https" })).toBe("served");
  });

  it("is nothing special without the mark, with another method, or if such calls are disabled", () => {
    expect(marked("https://app.example.com", { headers: [["Origin", "https://app.example.com"]] })).toBe("served");
    expect(marked("https://app.example.com", { method: "PUT" })).toBe("served");
    const headers: HeaderPair[] = [
      ["X-Grpc-Web", "1"],
      ["Origin", "https://evil.example"],
    ];
    expect(() =>
      refuseMarkedRequest(headWith(headers, { method: "POST" }), { ...pages, webOrigins: undefined }),
    ).not.toThrow();
  });
});

describe("a request is a call of gRPC-Web", () => {
  const read = webCallReader(pages);
  const callOf = (type: string, others: Readonly<Record<string, readonly string[]>> = {}, method = "POST") =>
    read({ method, host: service, valuesOf: (name) => (name === "content-type" ? [type] : (others[name] ?? [])) });

  it.each([
    ["application/grpc-web", { codec: "", sendsText: false, takesText: false }],
    ["Application/gRPC-Web+Proto; charset=x", { codec: "+Proto", sendsText: false, takesText: false }],
    ["application/grpc-web-text+json", { codec: "+json", sendsText: true, takesText: true }],
    ["application/grpc-web-text ;a=b", { codec: "", sendsText: true, takesText: true }],
  ])("with the type %j", (type, form) => {
    expect(callOf(type)?.web).toEqual({ ...form, origin: undefined });
  });

  it.each([
    "application/grpc",
    "application/grpc-webby",
    "application/grpc-web+",
    "text/plain",
    "application/grpc-web+a b",
  ])("but not with %j", (type) => {
    expect(callOf(type)).toBeUndefined();
  });

  it("by POST alone, in the form of the response that it accepts", () => {
    expect(callOf("application/grpc-web", {}, "GET")).toBeUndefined();
    expect(callOf("application/grpc-web", { accept: ["application/grpc-web-text"] })?.web?.takesText).toBe(true);
    expect(callOf("application/grpc-web-text", { accept: ["application/grpc-web+proto"] })?.web?.takesText).toBe(false);
    expect(callOf("application/grpc-web-text", { accept: ["*/*"] })?.web?.takesText).toBe(true);
  });

  it("and knows the page that may read its response, and its time", () => {
    const origin = "https://nova.team.sandbox.example.com";
    const call = callOf("application/grpc-web", { origin: [origin], "grpc-timeout": ["2S"] });
    expect([call?.web?.origin, call?.timeoutMs]).toEqual([origin, 2_000]);
    expect(callOf("application/grpc-web", { origin: [origin, origin] })?.web?.origin).toBeUndefined();
    expect(callOf("application/grpc-web", { origin: ["https://evil.example"] })?.web?.origin).toBeUndefined();
  });
});
