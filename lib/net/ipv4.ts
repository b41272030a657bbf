import { isIPv4 } from "node:net";

/** The dotted form of an address given as a number (0 to 2³² - 1). */
export const ipv4Text = (number: number): string => [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff).join(".");

/** The number of an address in dotted form; undefined if malformed. */
export function ipv4Number(text: string): number | undefined {
  return isIPv4(text) ? text.split(".").reduce((number, part) => number * 256 + Number(part), 0) : undefined;
}
