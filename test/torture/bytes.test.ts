import { describe, expect, it } from "vitest";
import { ByteCheck, bytesOf, describeWrong, downStream, upStream } from "./bytes.ts";

describe("bytes of a stream", () => {
  it("are the same in pieces of any size", () => {
    const whole = bytesOf(downStream(7), 0, 1_000);
    const pieces = [0, 1, 9, 17, 400, 1_000].map((at, index, all) => bytesOf(downStream(7), all[index - 1] ?? 0, at));
    expect(Buffer.concat(pieces).equals(whole)).toBe(true);
  });

  it("differ between any two streams", () => {
    expect(bytesOf(upStream(7), 0, 8).equals(bytesOf(downStream(7), 0, 8))).toBe(false);
    expect(bytesOf(upStream(7), 0, 8).equals(bytesOf(upStream(8), 0, 8))).toBe(false);
  });
});

describe("a check of bytes", () => {
  it("accepts the right bytes in pieces of any size", () => {
    const check = new ByteCheck(downStream(3));
    for (const [from, to] of [
      [0, 5],
      [5, 4_096],
      [4_096, 4_097],
    ] as const) {
      check.take(bytesOf(downStream(3), from, to));
    }
    expect(describeWrong(check)).toBe("4097 right bytes");
  });

  it("names the stream and offset of foreign bytes", () => {
    const check = new ByteCheck(downStream(3));
    check.take(bytesOf(downStream(3), 0, 1_001));
    check.take(bytesOf(downStream(4), 500, 600));
    expect(check.wrong).toEqual({ at: 1_001, origin: { stream: downStream(4), offset: 500 } });
    expect(describeWrong(check)).toMatch("bytes 500 of the response of 4 are");
  });

  it("distinguishes late bytes from foreign bytes", () => {
    const check = new ByteCheck(upStream(3));
    check.take(bytesOf(upStream(3), 0, 800));
    check.take(bytesOf(upStream(3), 903, 1_000));
    expect(describeWrong(check)).toMatch("from 800 on, where its own bytes of 903 are");
  });

  it("reports bytes of no stream", () => {
    const check = new ByteCheck(upStream(3));
    check.take(Buffer.alloc(100, "x"));
    expect(describeWrong(check)).toBe("100 of 100 bytes are wrong, from 0 on, where bytes of no stream are");
  });
});
