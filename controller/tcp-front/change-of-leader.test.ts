import { describe, expect, it, vi } from "vitest";
import { endpointSliceType, tcpFrontSliceName } from "../../api/between-programs/tcp-front.ts";
import { ApiUnreachable } from "../../kube/client/errors.ts";
import { type Intercept, interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { recordCalls } from "../../test/support/fakes/recording-client.ts";
import { type FrontLab, openFrontLab, podWith, portsOf } from "../../test/support/labs/front-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

/**
 * A leader that is cut off from the API server at its n-th write of a slice or Service, before it or before its answer.
 * Says how many it made.
 */
function cutOffAt(n: number, when: "before" | "after") {
  const state = { writes: 0, isOver: Promise.withResolvers<void>() };
  const intercept: Intercept = async ({ verb, kind }, proceed) => {
    const counts = verb !== "get" && (kind === "EndpointSlice" || kind === "Service");
    if (counts) state.writes += 1;
    if (state.writes < n || (!counts && state.writes === n)) return proceed();
    if (counts && state.writes === n && when === "after") await proceed();
    state.isOver.resolve();
    throw new ApiUnreachable("cut off");
  };
  return { state, intercept };
}

/** From the first sandbox to its successor of the same name; at each step the name leads where it should. */
async function liveTwice(lab: FrontLab): Promise<void> {
  const first = await lab.create({ podTemplate: podWith(5432) });
  const before = portsOf(await lab.untilLeadingTo(first, "10.0.0.1"));
  await lab.change({ podTemplate: podWith(6379) });
  const changed = await vi.waitFor(async () => {
    const slice = await lab.slice(first);
    expect(slice?.ports?.map(({ name }) => name)).toEqual(["p-6379-tcp"]);
    return portsOf(slice);
  }, waiting);
  await lab.remove();
  await lab.untilLeadingTo(first);
  const second = await lab.create();
  const after = portsOf(await lab.untilLeadingTo(second, "10.0.0.1"));
  expect(new Set([...before, ...changed, ...after]).size).toBe(3);
  expect((await lab.service())?.metadata.ownerReferences?.[0]?.uid).toBe(second.metadata.uid);
}

/** A sandbox whose name leads to an activator, by a controller that has ended. */
async function fromAnEarlierLeader(lab: FrontLab) {
  await using _first = await lab.startController();
  const made = await lab.create();
  await lab.untilLeadingTo(made, "10.0.0.1");
  return made;
}

describe("a change of leaders", () => {
  it.each(["before", "after"] as const)(
    "%s any write loses no port and no name",
    async (when) => {
      for (let n = 1, isDone = false; !isDone; n += 1) {
        await using lab = await openFrontLab();
        const { state, intercept } = cutOffAt(n, when);
        await using _first = await lab.startController({ client: interceptCalls(lab.client, intercept) });
        await using stack = new AsyncDisposableStack();
        const next = state.isOver.promise.then(async () => stack.use(await lab.startController()));
        await liveTwice(lab);
        isDone = state.writes < n;
        if (!isDone) await next;
        else expect(n).toBeGreaterThan(8);
      }
    },
    180_000,
  );

  it("writes nothing where everything is as it was", async () => {
    await using lab = await openFrontLab();
    const sandbox = await fromAnEarlierLeader(lab);
    const slice = await lab.slice(sandbox);
    const asked = lab.activators.asked.length;
    const client = recordCalls(lab.client);
    await using _second = await lab.startController({ client });
    // It asks again, and goes by what it found until then.
    await vi.waitFor(() => expect(lab.activators.asked.length).toBeGreaterThan(asked), waiting);
    const other = await lab.create({}, "other");
    await lab.untilLeadingTo(other, "10.0.0.1");
    expect(await lab.slice(sandbox)).toEqual(slice);
    const { name } = slice?.metadata ?? {};
    expect(client.calls.filter((call) => call.name === name)).toEqual([]);
  });

  it("does not believe for long what an activator no longer says", async () => {
    await using lab = await openFrontLab();
    const sandbox = await fromAnEarlierLeader(lab);
    lab.activators.accepts = () => false;
    await using _second = await lab.startController();
    await lab.untilLeadingTo(sandbox);
  });
});

it("a port that an activator remembers, whose record vanished without a leader, is replaced by another", async () => {
  await using lab = await openFrontLab();
  let remembered: number | undefined;
  lab.activators.rests = ({ activatorPort }) => {
    remembered ??= activatorPort;
    return activatorPort === remembered;
  };
  await using _controller = await lab.startController();
  const sandbox = await lab.create();
  const [port] = portsOf(await lab.untilLeadingTo(sandbox, "10.0.0.1"));
  expect(remembered).toBeDefined();
  expect(port).not.toBe(remembered);
});

describe("two leaders for a moment", () => {
  it("leave no port to two sandboxes, and every name leads somewhere", async () => {
    await using lab = await openFrontLab();
    await using _first = await lab.startController();
    await using _second = await lab.startController();
    const names = Array.from({ length: 12 }, (_, at) => `nova-${at}`);
    const sandboxes = await Promise.all(names.map((name) => lab.create({}, name)));
    const slices = await Promise.all(sandboxes.map((sandbox) => lab.untilLeadingTo(sandbox, "10.0.0.1")));
    expect(new Set(slices.flatMap(portsOf)).size).toBe(names.length);
  });

  it("that gave one port twice are put right: the older slice keeps it", async () => {
    await using lab = await openFrontLab();
    const sandboxes = await (async () => {
      await using _controller = await lab.startController();
      const made = [await lab.create({}, "one"), await lab.create({}, "two")];
      for (const sandbox of made) await lab.untilLeadingTo(sandbox, "10.0.0.1");
      return made;
    })();
    const [one, two] = await Promise.all(sandboxes.map((sandbox) => lab.slice(sandbox)));
    const [port] = portsOf(one);
    const { namespace, name = "" } = two?.metadata ?? {};
    const [key, said] = Object.entries(two?.metadata.annotations ?? {})[0] ?? ["", ""];
    const annotations = { [key]: said.replaceAll(String(portsOf(two)[0]), String(port)) };
    await lab.client.patch(
      endpointSliceType,
      { namespace, name },
      { type: "merge", body: { metadata: { annotations } } },
    );
    // It alone is asked about the port of both.
    const keepsIt = olderOf(one, two);
    lab.activators.accepts = (_host, asked) =>
      asked.activatorPort !== port || tcpFrontSliceName(asked.sandboxUid) === keepsIt?.metadata.name;
    await using _controller = await lab.startController();
    await vi.waitFor(async () => {
      const now = await Promise.all(sandboxes.map((sandbox) => lab.slice(sandbox)));
      expect(new Set(now.flatMap(portsOf)).size).toBe(2);
      const keeper = now.find((slice) => slice?.metadata.uid === keepsIt?.metadata.uid);
      expect(portsOf(keeper)).toEqual([port]);
      expect(now.map((slice) => slice?.endpoints?.length)).toEqual([1, 1]);
    }, waiting);
  });
});

type Slice = Awaited<ReturnType<FrontLab["slice"]>>;

function olderOf(one: Slice, two: Slice): Slice {
  const [first, second] = [one, two].map((slice) => `${slice?.metadata.creationTimestamp} ${slice?.metadata.uid}`);
  return (first ?? "") < (second ?? "") ? one : two;
}
