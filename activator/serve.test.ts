import { expect, it } from "vitest";
import { onUnexpectedError } from "../lib/guard/guard.ts";
import { noTracer } from "../lib/tracing/tracer.ts";
import { openActivatorWorld, rawConnection } from "../test/support/labs/activator-world.ts";

const get = "GET / HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\nConnection: close\r\n\r\n";

it.each([
  { what: "its record cannot be made", fails: "open" as const, answer: /^HTTP\/1.1 500 / },
  { what: "its rejection cannot be recorded", fails: "refused" as const, answer: /^$/ },
])("an unexpected error when $what ends that request alone", async ({ fails, answer }) => {
  const errors: unknown[] = [];
  using _listening = onUnexpectedError((where, error) => void errors.push([where, String(error)]));
  let isBroken = true;
  const broken = () => {
    if (isBroken) throw new Error("broken");
  };
  const span = {
    ...{ headers: {}, part: () => span, event() {}, end() {} },
    setAttributes: (given: object) => "rouse.reason" in given && fails === "refused" && broken(),
  };
  const tracer = {
    ...{ ...noTracer, enabled: true },
    open() {
      if (fails === "open") broken();
      return span as never;
    },
  };
  await using world = await openActivatorWorld([], {}, { tracer });
  using first = await rawConnection(world.activator);
  first.send(get);
  expect(await first.closed()).toMatch(answer);
  expect(errors).toEqual([["http-front", "Error: broken"]]);
  isBroken = false;
  using second = await rawConnection(world.activator);
  second.send(get);
  expect(await second.closed()).toMatch(/^HTTP\/1.1 404 /);
});
