import { expect, it } from "vitest";
import { type Head, MessageReader } from "./message-reader.ts";

/** The events of a reader for bytes in pieces of the given size. */
function heard(wire: string, piece: number, side: "request" | "response" = "response") {
  const said: string[] = [];
  const reader = new MessageReader(side, {
    head: ({ start }: Head) => {
      said.push(start);
      return / 10\d /.test(start) ? "head" : "body";
    },
    body: (bytes) => void said.push(`<${bytes}>`),
    end: () => void said.push("end"),
    raw: () => {},
  });
  for (let at = 0; at < wire.length; at += piece) reader.push(Buffer.from(wire.slice(at, at + piece)));
  reader.finish();
  return { said: said.join(" ").replaceAll("> <", ""), broken: reader.broken };
}

const wires: readonly (readonly [string, string])[] = [
  [
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n",
    "<abc> end HTTP/1.1 204 No end",
  ],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nT: 1\r\n\r\n", "<abc> end"],
  ["HTTP/1.1 200 OK\r\n\r\nabc", "<abc> end"],
];

for (const [wire, parts] of wires) {
  it(`reads ${JSON.stringify(wire.slice(0, 60))} in whatever pieces it comes`, () => {
    for (const piece of [1, 2, 7, 1_000]) expect(heard(wire, piece).said).toBe(`HTTP/1.1 200 OK ${parts}`);
  });
}

it("reads on after an interim response", () => {
  expect(heard("HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 3).said).toBe(
    "HTTP/1.1 103 E HTTP/1.1 200 OK <a> end",
  );
});

it("reports no end of a body that is shorter than its length", () => {
  expect(heard("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 4).said).not.toMatch("end");
});

it("reports malformed HTTP", () => {
  const wire = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n";
  expect(heard(wire, 5).broken).toBe("a chunk that is longer than it says");
});
