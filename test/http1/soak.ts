import { compareRandomStreams } from "./differential.ts";

// node test/http1/soak.ts [SEED] [STREAMS]: the differential test with other seeds and more streams.
const [seed = 1, streams = 1_000_000] = process.argv.slice(2).map(Number);
const { disagreements, ...counts } = compareRandomStreams(seed, streams);
const report = { seed, ...counts, onlyWeRefuse: Object.fromEntries(counts.onlyWeRefuse), disagreements };
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
if (disagreements.length > 0) process.exitCode = 1;
