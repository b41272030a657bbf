import { describe, expect, it } from "vitest";
import { IdleList, Link } from "./idle-list.ts";

const someLinks = () => Array.from({ length: 50 }, (_, at) => new Link(at));

describe("an idle list", () => {
  it("keeps its order over any sequence of joins and leaves", () => {
    const list = new IdleList<number>();
    const links = someLinks();
    let plain: Link<number>[] = [];
    for (const [round, link] of links.entries()) {
      list.join(link);
      plain.push(link);
      const leaving = plain[(round * 7) % plain.length];
      if (round % 3 > 0 && leaving) {
        leaving.leave();
        leaving.leave(); // a second time changes nothing
        plain = plain.filter((each) => each !== leaving);
      }
      expect([...list]).toEqual(plain.map(({ value }) => value));
      expect([list.size, list.oldest, list.newest]).toEqual([plain.length, plain[0], plain.at(-1)]);
    }
  });

  it("may lose members during iteration, and moves a member that joins again to its end", () => {
    const list = new IdleList<number>();
    const [a, b, c] = someLinks();
    if (!a || !b || !c) throw new Error("too few");
    for (const link of [a, b, c]) list.join(link);
    list.join(a);
    expect([...list]).toEqual([1, 2, 0]);
    for (const value of list) [a, b, c][value]?.leave();
    expect([list.size, list.oldest, list.newest]).toEqual([0, undefined, undefined]);
  });
});
