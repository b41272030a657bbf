import type { Clock } from "../lib/time/clock.ts";
import { run, succeeds } from "./command.ts";
import type { Component } from "./components.ts";
import { type Command, ensureDaemon, findDaemon, lastLogLines } from "./daemon.ts";
import { answersOk } from "./health.ts";
import type { Layout } from "./layout.ts";
import { inNamespace } from "./machine/mount-namespace.ts";
import { waitUntil } from "./wait.ts";

/** The namespaces of the components. Programs that use their mounts and sockets must run here too. */
export interface Inside {
  readonly layout: Layout;
  command(command: Command): Command;
  /** Runs a program to its end, as `run` does. */
  run(program: string, args: readonly string[]): Promise<string>;
}

export function insideOf(layout: Layout, keeper: number): Inside {
  const command = ({ program, args }: Command) => inNamespace(keeper, { program, args });
  return {
    layout,
    command,
    run(program, args) {
      const entered = command({ program, args });
      return run(entered.program, entered.args);
    },
  };
}

const readyLimitMs = 60_000;

/**
 * Starts a component unless it runs, and waits until it is ready.
 *
 * @throws when it exits before that, or takes longer than a minute; the message has the end of its log.
 */
export async function startComponent(
  component: Component,
  {
    inside,
    settings,
    clock,
  }: { readonly inside: Inside; readonly settings: Readonly<Record<string, string>>; readonly clock: Clock },
): Promise<void> {
  const { name, reads, health } = component;
  const { layout } = inside;
  const read = reads.map((file) => settings[file] ?? "").join("\n");
  await ensureDaemon(name, inside.command(component.command), { layout, clock, settings: read });
  const explain = (what: string) => `${name} ${what}. The end of ${layout.log(name)}:\n${lastLogLines(layout, name)}`;
  const isReady = async () => {
    if (!findDaemon(layout, name)) throw new Error(explain("has ended"));
    if ("url" in health) return answersOk(health.url);
    const { program, args } = inside.command(health.command);
    return succeeds(program, args);
  };
  await waitUntil(isReady, { clock, limitMs: readyLimitMs, complaint: () => explain("does not become ready") });
}
