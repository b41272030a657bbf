import { sendRandomFrames } from "./random-frames.ts";

// node test/malformed/soak.ts [SEED] [SESSIONS]: the test with random frames, with another seed and more connections.
const [seed = 1, sessions = 20_000] = process.argv.slice(2).map(Number);
const found = await sendRandomFrames(seed, sessions);
process.stdout.write(`${JSON.stringify({ seed, ...found })}\n`);
if (found.wrong > 0) process.exitCode = 1;
