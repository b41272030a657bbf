import { describe, expect, it } from "vitest";
import { dialledMax, socketsMax } from "./descriptors.ts";

const limits = (soft: string) => `Limit                     Soft Limit           Hard Limit           Units     
Max processes             128290               128290               processes 
Max open files            ${soft.padEnd(20)} 1048576              files     
Max locked memory         8388608              8388608              bytes     
`;

describe("the limit of sockets", () => {
  it.each([
    ["20000", 18_000],
    ["300", 236],
    ["10", 1],
    ["unlimited", undefined],
  ])("is, of %s descriptors, %s", (soft, max) => {
    expect(socketsMax(limits(soft))).toBe(max);
  });

  it("is higher for connections to sandboxes, but below the limit of the process", () => {
    expect(["20000", "300", "10", "unlimited"].map((soft) => dialledMax(limits(soft)))).toEqual([
      19_944,
      244,
      1,
      undefined,
    ]);
  });

  it("is unknown if the system reports none", () => {
    expect(socketsMax("")).toBeUndefined();
  });
});
