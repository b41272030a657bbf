import { describe, expect, it } from "vitest";
import { Fifo } from "./fifo.ts";

const members = Array.from({ length: 200 }, (_, at) => ({ at }));
const inLine = (line: Fifo<{ at: number }>) => [...line].map(({ at }) => at);

describe("a line", () => {
  it("keeps the earliest member first, whichever members leave", () => {
    const line = new Fifo<{ at: number }>();
    expect(line.first).toBeUndefined();
    const [a, b, c, d] = members;
    if (!a || !b || !c || !d) throw new Error("too few");
    for (const each of [a, b, c]) line.join(each);
    expect(line.first).toBe(a);
    line.leave(b);
    line.leave(a);
    expect([line.first, line.size]).toEqual([c, 1]);
    line.leave(c);
    expect(line.first).toBeUndefined();
    line.join(d);
    expect(line.first).toBe(d);
    expect(inLine(line)).toEqual([3]);
  });

  it("keeps its order over any sequence of joins and leaves", () => {
    const line = new Fifo<{ at: number }>();
    let plain: { at: number }[] = [];
    for (const [round, member] of members.entries()) {
      line.join(member);
      plain.push(member);
      const leaving = plain[(round * 7) % plain.length];
      if (round % 3 > 0 && leaving) {
        line.leave(leaving);
        plain = plain.filter((each) => each !== leaving);
      }
      expect(line.first).toBe(plain[0]);
    }
    expect(inLine(line)).toEqual(plain.map(({ at }) => at));
  });
});
