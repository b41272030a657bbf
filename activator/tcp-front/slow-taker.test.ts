import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openTcpRelay } from "../../test/support/labs/tcp-relay.ts";
import { openBackend } from "../../test/support/proxy-path.ts";

/** Less than the kernel takes for a client that reads nothing. */
const answerBytes = 1_000_000;

/** Time for all events that the sockets of this process have by now. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A client that has read nothing of its sandbox's answer, which has ended. */
async function given() {
  await using opened = new AsyncDisposableStack();
  let answering: Socket | undefined;
  const backend = opened.use(
    await openBackend((socket) => {
      socket.once("data", () => {
        answering = socket.end(Buffer.alloc(answerBytes, 65));
      });
    }),
  );
  const clock = new FakeClock();
  const relay = opened.use(await openTcpRelay(backend.port, { clock }));
  relay.client.pause().write("ask");
  await eventually(() => answering?.writableFinished === true);
  await turns();
  const closing = opened.move();
  return {
    ...{ relay, clock },
    lose: () => answering?.destroy(),
    async says(text: string) {
      await new Promise((resolve) => relay.client.write(text, resolve));
      await turns();
    },
    async takesTheRest() {
      let [taken, ending] = [0, ""];
      relay.client.on("data", ({ length }) => (taken += length)).on("end", () => (ending = "ended"));
      relay.client.resume().on("error", ({ code }: NodeJS.ErrnoException) => (ending = code ?? ""));
      await eventually(() => ending !== "");
      return { taken, ending };
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const everything = { taken: answerBytes, ending: "ended" };

it("a client that reads slowly gets all of a sandbox that is suspended, though it sends meanwhile", async () => {
  await using lab = await given();
  lab.relay.suspend();
  await lab.clock.advance(2_000);
  await lab.says("x");
  expect(await lab.takesTheRest()).toEqual(everything);
  await lab.clock.advance(5_000);
  expect(await lab.relay.ended).toBe("closedForSleep");
});

it("a client that reads slowly gets all of a sandbox whose Pod is gone, though it sends meanwhile", async () => {
  await using lab = await given();
  lab.relay.sweep.podGone({ podUid: "p1", ip: "127.0.0.1" });
  await lab.says("x");
  expect(await lab.takesTheRest()).toEqual(everything);
  await lab.clock.advance(6_000);
  expect(await lab.relay.ended).toBe("relayed");
});

it("a client that reads slowly gets all of a sandbox that takes nothing more, though it sends meanwhile", async () => {
  await using lab = await given();
  lab.lose();
  await lab.says("x");
  await lab.says("y");
  expect(await lab.takesTheRest()).toEqual(everything);
  await lab.clock.advance(6_000);
  expect(await lab.relay.ended).toBe("relayed");
});
