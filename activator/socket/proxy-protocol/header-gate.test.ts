import { expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { Sweep } from "../../sweep.ts";
import { HeaderGate } from "./header-gate.ts";
import { parseNetworks } from "./networks.ts";

it("a peer without an address, as after a reset, is not taken for one of another network", () => {
  const networks = parseNetworks("10.0.0.0/8");
  if (!networks) throw new Error("no networks");
  const clock = new FakeClock();
  const sweep = new Sweep(clock);
  const gate = new HeaderGate({ networks, limitMs: 1, clock, sweep, onRefused() {}, onOver() {} });
  const expected = [undefined, "10.0.0.1", "192.0.2.1"].map((remoteAddress) => gate.expects({ remoteAddress }));
  expect(expected).toEqual([true, true, false]);
});
