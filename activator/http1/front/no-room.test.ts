import { describe, expect, it } from "vitest";
import { systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, hear } from "../../../test/support/proxy-path.ts";
import { openSockets } from "../../socket/open-sockets.ts";
import { BufferLoans } from "../../socket/read-place.ts";
import { Sweep } from "../../sweep.ts";
import { HeadBudget } from "./head-budget.ts";
import { startHttp1Front } from "./http1-front.ts";

const options = {
  ...{ host: "127.0.0.1", port: 0, headersTimeoutMs: 10_000, keepAliveTimeoutMs: 60_000, maxHeaderBytes: 65_536 },
  ...{ streamIdleMs: 0, maxConnections: 1_000 },
};

describe("a front whose process has room for few sockets", () => {
  it("closes and counts connections beyond the limit, and accepts again below it", async () => {
    using sweep = new Sweep(systemClock);
    let [open, dropped] = [0, 0];
    const events = {
      connected() {
        open += 1;
      },
      disconnected() {
        open -= 1;
      },
      dropped() {
        dropped += 1;
      },
      refused: () => {},
      handshakeFailed: () => {},
      overheadCut: () => {},
    };
    const before = openSockets();
    const hasRoom = () => openSockets() - before < 3;
    const parts = {
      clock: systemClock,
      sweep,
      loans: new BufferLoans(1),
      heads: new HeadBudget(),
      serve: async () => {},
      events,
      hasRoom,
    };
    await using front = await startHttp1Front(options, parts);
    const { port } = front.address;
    const inside = await Promise.all(Array.from({ length: 3 }, () => dialled(port)));
    await eventually(() => open === 3);
    expect(await hear(await dialled(port))).toBe("");
    expect([open, dropped]).toEqual([3, 1]);
    inside[0]?.destroy();
    await eventually(() => open === 2 && openSockets() - before === 2);
    const late = await dialled(port);
    await eventually(() => open === 3);
    for (const socket of [...inside, late]) socket.destroy();
    await eventually(() => open === 0);
    expect(dropped).toBe(1);
  });
});
