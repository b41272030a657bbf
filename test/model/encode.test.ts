import { isDeepStrictEqual } from "node:util";
import { expect, it } from "vitest";
import { seededRandom } from "../support/seeded-random.ts";
import { Codes } from "./codes.ts";
import { small } from "./configurations.ts";
import { encode } from "./encode.ts";
import { handshake } from "./handshake.ts";
import type { Request, World } from "./world.ts";

/** The same state, in which each activator has the number of the other one. */
function exchanged(world: World): World {
  const ofRequest = (request: Request): Request =>
    "activator" in request ? { ...request, activator: 1 - request.activator } : request;
  return {
    ...world,
    activators: world.activators.toReversed(),
    requests: world.requests.map(ofRequest),
    controllers: world.controllers.map((controller) => ({
      ...controller,
      round: controller.round && { ...controller.round, replies: controller.round.replies.toReversed() },
    })),
  };
}

const two = small.filter(({ limits }) => limits.activators.late === 1);

it.each(two)("two activators may be exchanged: the same steps follow, when $about", ({ limits }) => {
  const model = handshake(limits);
  const random = seededRandom(1);
  const codes = new Codes();
  const numberOf = (world: World) => {
    encode(world, codes);
    return codes.end();
  };
  const both = (world: World) =>
    [numberOf(world), numberOf(exchanged(world))].toSorted((one, other) => one - other).join();
  const next = (world: World) =>
    model
      .steps(world)
      .map((step) => `${both(step.next)}: ${step.broken}`)
      .toSorted();
  let different = 0;
  for (let walk = 0; walk < 10; walk += 1) {
    let world = model.initial;
    for (let steps = model.steps(world); steps.length > 0; steps = model.steps(world)) {
      world = random.oneOf(steps).next;
      expect(next(exchanged(world))).toEqual(next(world));
      const [one, other] = world.activators;
      if (isDeepStrictEqual(one, other)) continue;
      different += 1;
      expect(numberOf(exchanged(world))).toBe(numberOf(world));
    }
  }
  expect(different).toBeGreaterThan(100);
});
