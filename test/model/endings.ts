// The ends of a Pod in the model: its capture and its deletion.
import type {
  BeginCapture,
  DeletePod,
  GiveUpCapture,
} from "../../controller/suspension/handshake/decide-suspension.ts";
import type { Step } from "./explore.ts";
import { areEqual, cutInCapture, withImage } from "./memory.ts";
import { podIn, podNumber, type World, withController } from "./world.ts";

/** With the UID as precondition. Requests that a manual suspension cuts after its drain timeout are cut on purpose, and reported. */
export function deletePod(
  world: World,
  index: number,
  { podUid: uid, cut, unasked }: DeletePod,
  overdue: boolean,
): Step<World>[] {
  const pod = podNumber(uid);
  if (podIn(world.pods) !== pod) return [];
  const sent = world.requests.filter(
    (request) => (request.at === "pod" || request.at === "tunnel") && request.pod === pod,
  );
  const reported = cut > 0 || unasked > 0;
  const broken = cutInCapture(world, pod) ?? (overdue && reported ? undefined : deletedUnder(sent, unasked > 0));
  const requests = world.requests.map((request) => (sent.includes(request) ? ({ at: "end" } as const) : request));
  const paused = world.paused === pod ? 0 : world.paused;
  const gone = { ...world, pods: world.pods + 1, gated: false, asks: 0, paused, requests };
  return [
    {
      what: `controller ${index} deletes Pod ${pod}${cut ? `, cutting ${cut}` : ""}`,
      next: withController(gone, index, { seesPods: gone.pods, round: undefined }),
      ...(broken && { broken }),
    },
  ];
}

/** An idle tunnel of an activator that was silent for five minutes ends with its Pod, and that is reported. */
function deletedUnder(sent: World["requests"], isReported: boolean): string | undefined {
  if (sent.some(({ at }) => at === "pod")) return "a Pod with a request is deleted";
  return sent.length > 0 && !isReported ? "a Pod with a tunnel is deleted, and the tunnel was not closed" : undefined;
}

/** What is still in flight is cut by the freeze, as by a deletion. */
export function beginCapture(
  world: World,
  index: number,
  { image, cut, unasked }: BeginCapture,
  overdue: boolean,
): Step<World>[] {
  const pod = podNumber(image.spec.podUID);
  if (world.images[pod - 1]?.asked) return [];
  const sent = world.requests.filter(
    (request) => (request.at === "pod" || request.at === "tunnel") && request.pod === pod,
  );
  const isReported = overdue && (cut > 0 || unasked > 0);
  const broken = isReported ? undefined : deletedUnder(sent, unasked > 0);
  const requests = world.requests.map((request) => (sent.includes(request) ? ({ at: "end" } as const) : request));
  const asked = withImage({ ...world, requests }, pod, { asked: true });
  const next = withController(asked, index, { seesImages: asked.images, round: undefined });
  return [{ what: `controller ${index} asks for the capture of Pod ${pod}`, next, ...(broken && { broken }) }];
}

/** With the version that it has seen: an image that has changed is only seen. */
export function giveUp(world: World, index: number, { image }: GiveUpCapture): Step<World> {
  const pod = podNumber(image.spec.podUID);
  const seen = world.controllers[index]?.seesImages[pod - 1];
  const now = world.images[pod - 1];
  const isAsSeen = seen && now && areEqual([seen], [now]);
  const after = isAsSeen ? withImage(world, pod, { givenUp: true }) : world;
  const what = `controller ${index} ${isAsSeen ? "gives up" : "cannot give up"} the capture of Pod ${pod}`;
  return { what, next: withController(after, index, { seesImages: after.images, round: undefined }) };
}
