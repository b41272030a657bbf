// `npm run bench:sleep`: how soon after its idle deadline a sandbox is suspended, and what ten thousand sandboxes cost.
import { parseArgs } from "node:util";
import { measureCost } from "./cost.ts";
import { measureDeadlines } from "./deadlines.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Of `deadlines`. */
    sleeps: { type: "string", default: "200" },
    /** Of `cost`. */
    sandboxes: { type: "string", default: "10000" },
    /** Of `cost`: requests a second of the part with activity. */
    rate: { type: "string", default: "200" },
  },
});
const parts = positionals.length > 0 ? positionals : ["deadlines", "cost"];
const say = (text: string) => void process.stdout.write(`${text}\n`);

if (parts.includes("deadlines")) say(await measureDeadlines(Number(values.sleeps)));
if (parts.includes("cost")) say(await measureCost(Number(values.sandboxes), Number(values.rate)));
