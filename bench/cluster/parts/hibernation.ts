import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { activatorUrl } from "../../../cluster/demo/demonstration.ts";
import { recordStates } from "../../state-times.ts";
import { spreadOf } from "../../statistics.ts";
import { type AskedTarget, askOnce, putToSleep } from "../../wake/our-client.ts";
import { activatorToken } from "../activator-token.ts";
import {
  bytesOnDisk,
  nameOf,
  sandboxOf,
  untilCapturable,
  type Variant,
  type Way,
  ways,
} from "../hibernating-sandboxes.ts";
import type { World } from "../world.ts";
import { measureCrowd } from "./hibernation-crowd.ts";

const usualRounds = 10;
const sizes = [20, 200, 1_000] as const;
/** What the token costs does not depend on the size. */
const sizeWithToken = 20;
const userAgent = "bench-hibernation";
/** A large program needs several seconds to start anew on a busy machine. */
const capturedWithinMs = 65_000;

const columns: readonly (readonly [string, Omit<Variant, "way">])[] = sizes.flatMap((megabytes) => {
  const plain = [`${megabytes.toLocaleString("en")} MB`, { megabytes, hasToken: false }] as const;
  if (megabytes !== sizeWithToken) return [plain];
  return [plain, [`${megabytes} MB, with a token`, { megabytes, hasToken: true }] as const];
});

interface Capture {
  readonly freezeMs: number;
  readonly writeMs: number;
  readonly syncMs: number;
  readonly hashMs: number;
  /** From the order of the controller to the report of the agent, as a watch shows them. */
  readonly wholeMs: number;
  readonly diskBytes: number;
}

interface Figures {
  readonly captures: Capture[];
  readonly firstByteMs: number[];
}

/** Sandboxes of several sizes, captured and restored on a real node, beside the same programs started anew. */
export async function measureHibernation(world: World): Promise<string> {
  await using namespace = await world.openNamespace();
  const target = {
    activator: await activatorUrl(world.kubectl),
    activatorToken: await activatorToken(world),
    namespace: namespace.name,
    domain: "sandbox.localhost",
  };
  const rounds = world.rounds(usualRounds);
  const taken = new Map<string, Figures>();
  const variants = ways.flatMap((way) => columns.map(([, rest]): Variant => ({ way, ...rest })));
  for (const variant of variants) {
    await world.client.create(sandboxType, sandboxOf(namespace.name, nameOf(variant), variant));
    taken.set(nameOf(variant), { captures: [], firstByteMs: [] });
    await askOnce(target, nameOf(variant), { path: "/", userAgent });
  }
  for (let round = 1; round <= rounds; round += 1) {
    world.say(`round ${round} of ${rounds}`);
    for (const variant of variants) await sleepAndWake(world, target, variant, taken.get(nameOf(variant)));
  }
  for (const variant of variants)
    await world.client.delete(sandboxType, { namespace: namespace.name, name: nameOf(variant) });
  const of = (way: Way, rest: Omit<Variant, "way">): Figures | undefined => taken.get(nameOf({ way, ...rest }));
  return [
    "### Memory that is kept, in gVisor\n",
    `${rounds} rounds, one sandbox after the other; medians, with the greatest in brackets.\n`,
    captureTable(of),
    wakeTable(of),
    await measureCrowd(world, target, Math.max(1, Math.round(rounds / 4))),
  ].join("\n");
}

async function sleepAndWake(world: World, target: AskedTarget, variant: Variant, figures?: Figures): Promise<void> {
  const name = nameOf(variant);
  const { namespace } = target;
  const life = (await askOnce(target, name, { path: "/", userAgent })).body;
  if (variant.way === "restored") figures?.captures.push(await capture(world, namespace, name));
  else await putToSleep(world.client, { namespace, name });
  const { body, firstByteMs, sentMs } = await askOnce(target, name, { path: "/", userAgent });
  const isRestored = body === life;
  if (isRestored !== (variant.way === "restored"))
    throw new Error(`${name} ${isRestored ? "goes on" : "has started anew"}`);
  figures?.firstByteMs.push(firstByteMs - sentMs);
}

/** Suspends a sandbox, and tells what its capture took. */
async function capture(world: World, namespace: string, name: string): Promise<Capture> {
  const { client } = world;
  const { metadata } = await untilCapturable(world, namespace, name);
  await using images = await recordStates(client, memoryImageType, namespace, {
    asked: ({ metadata: { uid }, spec }) => uid === metadata.uid && spec.stage === "Capture",
    captured: ({ metadata: { uid }, status }) => uid === metadata.uid && status?.phase === "Captured",
  });
  await putToSleep(client, { namespace, name });
  await images.untilReached("captured", 1, capturedWithinMs);
  const image = await client.get(memoryImageType, { namespace, name: metadata.name });
  const { freezeMs = 0, writeMs = 0, syncMs = 0, hashMs = 0 } = image.status?.durations ?? {};
  return {
    ...{ freezeMs, writeMs, syncMs, hashMs },
    wholeMs: (images.at("captured", metadata.name) ?? Number.NaN) - (images.at("asked", metadata.name) ?? Number.NaN),
    diskBytes: await bytesOnDisk(world, image),
  };
}

type Of = (way: Way, rest: Omit<Variant, "way">) => Figures | undefined;

const cell = (values: readonly number[], digits = 0): string => {
  const { p50, max } = spreadOf(values);
  return `${p50.toFixed(digits)} (${max.toFixed(digits)})`;
};

const row = (name: string, cells: readonly string[]): string => `| ${name} | ${cells.join(" | ")} |`;

/** The files are synced and hashed at the same time. */
const restOf = ({ wholeMs, freezeMs, writeMs, syncMs, hashMs }: Capture): number =>
  wholeMs - freezeMs - writeMs - Math.max(syncMs, hashMs);

function captureTable(of: Of): string {
  const plain = columns.filter(([, { hasToken }]) => !hasToken);
  const parts: readonly (readonly [string, (capture: Capture) => number])[] = [
    ["freeze", ({ freezeMs }) => freezeMs],
    ["write", ({ writeMs }) => writeMs],
    ["fsync", ({ syncMs }) => syncMs],
    ["hash", ({ hashMs }) => hashMs],
    ["rename, and reports", restOf],
    ["ordered to reported", ({ wholeMs }) => wholeMs],
    ["MB on disk", ({ diskBytes }) => diskBytes / 1e6],
  ];
  return [
    row(
      "capture, ms",
      plain.map(([name]) => name),
    ),
    row(
      "---",
      plain.map(() => "---:"),
    ),
    ...parts.map(([name, part]) =>
      row(
        name,
        plain.map(([, rest]) => cell((of("restored", rest)?.captures ?? []).map(part))),
      ),
    ),
    "",
  ].join("\n");
}

function wakeTable(of: Of): string {
  return [
    row(
      "connection to first byte, ms",
      columns.map(([name]) => name),
    ),
    row(
      "---",
      columns.map(() => "---:"),
    ),
    ...ways.map((way) =>
      row(
        way,
        columns.map(([, rest]) => cell(of(way, rest)?.firstByteMs ?? [])),
      ),
    ),
    "",
  ].join("\n");
}
