import { exploreEverything } from "../model/soak.ts";

for (const { about, states, steps, depth, counterexample } of exploreEverything()) {
  process.stdout.write(`${about}: ${states} states, ${steps} steps, ${depth} deep\n`);
  if (!counterexample) continue;
  process.stdout.write(`${counterexample.why}:\n${counterexample.trace.join("\n")}\n`);
  process.exitCode = 1;
}
