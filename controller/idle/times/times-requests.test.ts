import { expect, it } from "vitest";
import { TimesRequests } from "./times-requests.ts";

it("sandboxes that are not reported before the time is over are in the next report, which is due at once", () => {
  const requests = new TimesRequests();
  const notified: string[] = [];
  const decided: string[] = [];
  const report = (inOneReport: number) => {
    let left = inOneReport;
    requests.report(0, {
      decide: (key) => {
        decided.push(key);
        return { is: "due", times: {} };
      },
      notify: (key) => notified.push(key),
      isOver: () => {
        left -= 1;
        return left === 0;
      },
    });
  };
  for (let at = 0; at < 25; at += 1) requests.add(`lab/nova-${at}`);
  report(10);
  expect([notified.length, requests.nextMs]).toEqual([10, Number.NEGATIVE_INFINITY]);
  report(15);
  expect([new Set(notified).size, decided.length, requests.nextMs]).toEqual([25, 25, undefined]);
});
