import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { childrenOf, type Node, nameOf, parseTypeScript, partOf } from "../../test/mutate/node.ts";
import { projectFiles } from "../../test/support/project-files.ts";

// A task that ends by itself ends its program, and in local mode all sandboxes. So each round of a loop in a task is guarded: by
// `repeatUntilDone`, or by a `try` around all that may throw.

/** Files with loops that need no guard, with the reason. This list may only shrink. */
const exceptions: Readonly<Record<string, string>> = {
  "controller/tcp-front/confirmer.ts": "a conversation that fails ends alone, and the next question begins another one",
  "controller/tcp-front/remove-fronts.ts": "the loop is a part of one guarded round",
  "kube/informer/start-informer.ts": "each step has a catch of its own",
  "kube/leader/leader-election.ts": "an error must end the leadership; each attempt has a catch of its own",
};

/** These do not throw. What an aborted sleep throws is no failure: the task is stopping. */
const harmless = /\.(sleep|catch|ticksMs|take|splice|keys)$/;

const isFunction = ({ type }: Node) => /^(Function|ArrowFunction)/.test(type);
const isLoop = ({ type }: Node) => /^(While|For|DoWhile)Statement$/.test(type);

/** All nodes below, except for those in functions. */
function* within(node: Node): Generator<Node> {
  for (const [, child] of childrenOf(node)) {
    if (isFunction(child)) continue;
    yield child;
    yield* within(child);
  }
}

/** The calls below that no `try` with a `catch` encloses. What a `catch` does itself is not looked at. */
function* unguardedCalls(node: Node): Generator<Node> {
  for (const [, child] of childrenOf(node)) {
    if (isFunction(child) || (child.type === "TryStatement" && partOf(child, "handler"))) continue;
    if (child.type === "CallExpression") yield child;
    yield* unguardedCalls(child);
  }
}

function* everyNode(node: Node): Generator<Node> {
  yield node;
  for (const [, child] of childrenOf(node)) yield* everyNode(child);
}

/** The calls in loops that wait, as `line: name`, which could end the task around the loop. */
function unguarded(text: string): string[] {
  const loops = [...everyNode(parseTypeScript(text))].filter(isLoop);
  return loops
    .filter((loop) => [...within(loop)].some(({ type }) => type === "AwaitExpression"))
    .flatMap((loop) => [...unguardedCalls(loop)])
    .map((call) => ({ line: text.slice(0, call.start).split("\n").length, name: nameOf(partOf(call, "callee")) }))
    .filter(({ name }) => !harmless.test(name))
    .map(({ line, name }) => `${line}: ${name}`);
}

const files = projectFiles().filter((file) =>
  /^(lib|kube|apiserver|controller|activator|local)\/.*(?<!\.test)\.ts$/.test(file),
);
const withTasks = files.filter((file) => /\bstartTask\((?!name: string)/.test(readFileSync(file, "utf8")));

describe("a loop in a task", () => {
  it("guards each of its rounds", () => {
    expect(withTasks.length).toBeGreaterThan(10);
    const found = withTasks
      .filter((file) => !(file in exceptions))
      .flatMap((file) => unguarded(readFileSync(file, "utf8")).map((call) => `${file}:${call}`));
    expect(found).toEqual([]);
  });

  it("is found by this test if it is not guarded", () => {
    const loop = (body: string) => `startTask("x", async (signal) => { while (!signal.aborted) { ${body} } });`;
    const wait = "await clock.sleep(5, signal).catch(() => {});";
    expect(unguarded(loop(`${wait} sweep();`))).toEqual(["1: sweep"]);
    expect(unguarded(loop(`try { ${wait} sweep(); } finally { done(); }`))).toEqual(["1: sweep", "1: done"]);
    expect(unguarded(loop(`${wait} try { sweep(); } catch (err) { log.warn({ err }, "failed"); }`))).toEqual([]);
  });

  it("has no exception without need", () => {
    expect(Object.keys(exceptions).filter((file) => unguarded(readFileSync(file, "utf8")).length === 0)).toEqual([]);
  });
});
