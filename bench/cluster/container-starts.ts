import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { findDaemon } from "../../cluster/daemon.ts";
import type { Layout } from "../../cluster/layout.ts";
import { insideOf } from "../../cluster/start-component.ts";
import { systemClock } from "../../lib/time/clock.ts";

/** When containers were started, by the events of the container runtime. */
export interface ContainerStarts extends Disposable {
  /** Milliseconds since the epoch, in order. The first of a Pod is its pod sandbox, which has the network. */
  since(epochMs: number): readonly number[];
}

/** As `ctr events` prints it: a time with nine digits, the namespace, the topic, and the event as JSON. */
const start = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d{3})\d* \+0000 UTC \S+ \/tasks\/start /;

export async function followContainerStarts(layout: Layout): Promise<ContainerStarts> {
  const keeper = findDaemon(layout, "mount-namespace");
  if (!keeper) throw new Error("the cluster does not run");
  const { program, args } = insideOf(layout, keeper.pid).command({
    program: "ctr",
    args: ["--namespace=k8s.io", "events"],
  });
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  const times: number[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [, day, time] = start.exec(line) ?? [];
    if (day) times.push(Date.parse(`${day}T${time}Z`));
  });
  await systemClock.sleep(1_000); // `ctr` does not report when it has begun to listen
  return {
    since: (epochMs) => times.filter((ms) => ms >= epochMs),
    [Symbol.dispose]: () => void child.kill("SIGTERM"),
  };
}
