import { describe, expect, it } from "vitest";
import { fieldsOf } from "../../../test/http1/wire-reader.ts";
import { BodyFramer, type BodyStep } from "./body-framer.ts";
import { ChunkEncoder, trailerSection } from "./chunk-encoder.ts";
import { uncounted } from "./section-reader.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");

/** The bytes that a relay would forward if it omits only what the framer marks. */
function passOn(
  framer: BodyFramer,
  text: string,
): { readonly passed: string; readonly data: string; readonly step: BodyStep } {
  const bytes = latin1(text);
  let [passed, data, from] = ["", "", 0];
  for (;;) {
    const step = framer.next(bytes, framer.at, bytes.length);
    if (step === "data") data += bytes.toString("latin1", framer.from, framer.to);
    if (step === "data") continue;
    passed += bytes.toString("latin1", from, step === "omit" ? framer.from : framer.at);
    if (step !== "omit") return { passed, data, step };
    from = framer.to;
  }
}

function begun(...body: Parameters<BodyFramer["begin"]>): BodyFramer {
  const framer = new BodyFramer(uncounted);
  framer.begin(...body);
  return framer;
}

describe("a body with a length", () => {
  it("ends at its last byte and leaves what follows alone", () => {
    const framer = begun("length", 5);
    const bytes = latin1("..helloGET /");
    expect(framer.next(bytes, 2, bytes.length)).toBe("data");
    expect([framer.from, framer.to, framer.at]).toEqual([2, 7, 7]);
    expect(framer.next(bytes, framer.at, bytes.length)).toBe("complete");
    expect(framer.at).toBe(7);
  });

  it("is cut when the other side closes before its last byte", () => {
    const framer = begun("length", 5);
    framer.next(latin1("hell"), 0, 4);
    expect(framer.finish()).toBe(false);
    expect(framer.bodyBytes).toBe(4);
  });

  it("without bytes is complete at once", () => {
    expect(begun("none", 0).isComplete).toBe(true);
    expect(begun("length", 0).isComplete).toBe(true);
  });
});

it("a body until close ends with the connection alone", () => {
  const framer = begun("close", 0);
  expect(passOn(framer, "0\r\n\r\n")).toEqual({ passed: "0\r\n\r\n", data: "0\r\n\r\n", step: "more" });
  expect(framer.isComplete).toBe(false);
  expect(framer.finish()).toBe(true);
});

describe("a chunked body", () => {
  const plain = "5\r\nhello\r\n1\r\n!\r\n0\r\n";

  it("can be forwarded unchanged, up to the trailers", () => {
    const framer = begun("chunked", 0);
    expect(passOn(framer, `${plain}\r\nGET`)).toEqual({ passed: plain, data: "hello!", step: "complete" });
    expect(fieldsOf(framer.trailers)).toEqual([]);
    expect(trailerSection(framer.trailers)).toBe("\r\n");
  });

  it("loses its extensions and keeps its trailers apart", () => {
    const framer = begun("chunked", 0);
    const wire = '5;a\r\nhello\r\n1;b="\\";";c\r\n!\r\n0;d=e\r\nX-A: b\r\n\r\n';
    const { passed } = passOn(framer, wire);
    expect(passed).toBe(plain);
    expect(fieldsOf(framer.trailers)).toEqual(["X-A", "b"]);
    expect(trailerSection(framer.trailers)).toBe("X-A: b\r\n\r\n");
  });

  it("loses them byte by byte too", () => {
    const framer = begun("chunked", 0);
    let passed = "";
    for (const byte of "5;a=b\r\nhello\r\n1\r\n!\r\n0;d\r\nX-A: b\r\n\r\n") {
      framer.at = 0;
      passed += passOn(framer, byte).passed;
    }
    expect(passed).toBe(plain);
    expect(framer.isComplete).toBe(true);
    expect(fieldsOf(framer.trailers)).toEqual(["X-A", "b"]);
  });

  it("stays refused once it is refused", () => {
    const framer = begun("chunked", 0);
    expect(passOn(framer, "5 \r\n").step).toBe("refused");
    expect(framer.refusal).toBe("ChunkSizeInvalid");
    framer.at = 0;
    expect(passOn(framer, "0\r\n\r\n").step).toBe("refused");
    expect(framer.finish()).toBe(false);
  });

  it("may follow another on the same framer, with its extensions counted from zero", () => {
    const framer = new BodyFramer(uncounted);
    const extended = `1;${"a".repeat(250)}\r\nx\r\n`.repeat(10);
    for (let body = 0; body < 5; body++) {
      framer.begin("chunked", 0);
      framer.at = 0;
      expect(passOn(framer, `${extended}0\r\n\r\n`).step).toBe("complete");
    }
  });
});

describe("the encoder", () => {
  it("writes what the framer reads", () => {
    const encoder = new ChunkEncoder();
    const parts = ["a", "b".repeat(16), "c".repeat(70_000)];
    const wire = parts.map((part) => encoder.before(part.length) + part).join("") + encoder.end();
    const framer = begun("chunked", 0);
    expect(passOn(framer, wire)).toMatchObject({ data: parts.join(""), step: "complete" });
    expect(framer.at).toBe(wire.length);
  });

  it("writes an empty body, and starts again for the next", () => {
    const encoder = new ChunkEncoder();
    expect(encoder.end()).toBe("0\r\n\r\n");
    expect(encoder.before(10)).toBe("a\r\n");
  });

  it.each([0, -1, 1.5, Number.NaN])("refuses a chunk of %s bytes, which would end the body or break it", (length) => {
    expect(() => new ChunkEncoder().before(length)).toThrow(RangeError);
  });
});
