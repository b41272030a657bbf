import { expect, it } from "vitest";
import { mayLowerOomScore } from "./capabilities.ts";

it.each([
  ["a process with all capabilities", "Name:\tnode\nCapEff:\t000001ffffffffff\nCapBnd:\t0000000000000000\n", true],
  ["a process without CAP_SYS_RESOURCE", "CapPrm:\t000001ffffffffff\nCapEff:\t000001fffeffffff\n", false],
  ["an unknown process", "", false],
])("%s may lower an OOM score, or not", (_, status, may) => {
  expect(mayLowerOomScore(status)).toBe(may);
});
