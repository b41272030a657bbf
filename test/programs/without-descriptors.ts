// A program that uses up its file descriptors, and then starts what needs some. It prints what became of each attempt.
import { closeSync, openSync } from "node:fs";
import { Converters } from "../../controller/webhook/converters.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { Runsc } from "../../node/agent/doors/runsc.ts";
import { anAlphaSandbox, core } from "../support/builders/versions.ts";
import { reviewOf } from "../support/labs/webhook-world.ts";

const limits = {
  ...{ smallBytesMax: 1, smallPartsMax: 1, smallNestingMax: 1, processesForSmall: 1, processesForLarge: 1 },
  ...{ heapMegabytesForSmall: 32, heapMegabytesForLarge: 96, processesOfPeer: 1, forgivenPerSecond: 10 },
  ...{ usedMsMax: 10_000, waitingMax: 9, waitingOfPeerMax: 9, waitMs: 20_000, convertMs: 10_000 },
};
const left = Number(process.argv[2]);
const converters = new Converters(limits, systemClock);
const runsc = new Runsc({ program: process.execPath, root: "/" }, systemClock);
const body = Buffer.from(JSON.stringify(reviewOf([anAlphaSandbox({ replicas: 0 })], core.beta)));
const convert = () =>
  converters.convert({ body, peer: "a", signal: new AbortController().signal, taken: () => {} }).then(
    ({ about }) => about.outcome,
    (error: unknown) => String(error),
  );
const version = () =>
  runsc.version(new AbortController().signal).then(
    () => "answered",
    (error: unknown) => String(error),
  );
setInterval(() => {}, 1_000); // Stays alive: the processes alone do not keep it.
const said: Record<string, string> = {};
process.on("uncaughtException", (error) => {
  said["uncaught"] = String(error);
});

await convert(); // What Node loads for it needs descriptors too.
await converters[Symbol.asyncDispose]();
const taken: number[] = [];
try {
  for (;;) taken.push(openSync("/dev/null", "r"));
} catch {
  // None is left.
}
for (let count = 0; count < left; count += 1) closeSync(taken.pop() ?? 0);
said["runsc"] = await version();
said["without"] = await convert();
for (const descriptor of taken) closeSync(descriptor);
said["atOnceAfter"] = await convert();
await new Promise((resolve) => setTimeout(resolve, 1_000));
said["with"] = await convert();
process.stdout.write(JSON.stringify(said));
process.exit(0);
