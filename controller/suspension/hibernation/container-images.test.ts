import { describe, expect, it } from "vitest";
import type { ContainerState, ContainerStatus } from "../../../api/kinds/pod.ts";
import { containerImagesOf, lacksAnImage, withImages } from "./container-images.ts";

const digest = `sha256:${"a".repeat(64)}`;
const statusOf = (imageID: string, name = "main"): ContainerStatus => ({
  ...{ name, imageID, image: "worker:latest", ready: true, restartCount: 0 },
});
const imagesOf = (...containerStatuses: readonly ContainerStatus[]) =>
  containerImagesOf({ status: { containerStatuses } });

describe("the images of a Pod that runs", () => {
  it.each([
    [`registry.example/team/worker@${digest}`, `registry.example/team/worker@${digest}`],
    [`docker-pullable://worker@${digest}`, `worker@${digest}`],
    [`registry.example:5000/worker@${digest}`, `registry.example:5000/worker@${digest}`],
    [digest, digest],
    [`docker://${digest}`, digest],
  ])("are known from the image ID %s", (imageID, image) => {
    expect(imagesOf(statusOf(imageID))).toEqual([{ name: "main", image }]);
  });

  it.each([
    "",
    "worker:latest",
    "sha256:abc",
    `worker:1@${digest}0`,
    `a b@${digest}`,
    `${"r".repeat(1_024)}@${digest}`,
  ])("are unknown with the image ID %s", (imageID) => {
    expect(imagesOf(statusOf(imageID), statusOf(digest, "other"))).toBeUndefined();
  });

  it("are unknown without a status, and if there are more than a MemoryImage names", () => {
    expect(containerImagesOf({})).toBeUndefined();
    expect(imagesOf()).toBeUndefined();
    const containers = Array.from({ length: 129 }, (_, index) => statusOf(digest, `c${index}`));
    expect(imagesOf(...containers)).toBeUndefined();
    expect(imagesOf(...containers.slice(1))).toHaveLength(128);
  });
});

it("a Pod that goes on from memory names each image by its content, and pulls none that has no registry", () => {
  const containers = [
    { name: "main", image: "worker", imagePullPolicy: "Always", command: ["run"] },
    { name: "constructor", image: "helper", imagePullPolicy: "Always" },
  ];
  const images = [
    { name: "main", image: `worker@${digest}` },
    { name: "constructor", image: digest },
  ];
  expect(withImages({ containers, hostname: "nova" }, images)).toEqual({
    containers: [
      { name: "main", image: `worker@${digest}`, imagePullPolicy: "Always", command: ["run"] },
      { name: "constructor", image: digest, imagePullPolicy: "Never" },
    ],
    hostname: "nova",
  });
  expect(withImages({ containers }, images.slice(0, 1))).toBeUndefined();
});

describe("a Pod", () => {
  const waits = (reason: string, more: Partial<ContainerStatus> = {}) => {
    const state: ContainerState = { waiting: { reason } };
    return lacksAnImage({
      metadata: {},
      status: { containerStatuses: [statusOf(digest, "ready"), { ...statusOf(""), state, ...more }] },
    });
  };

  it.each(["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"])(
    "lacks an image: %s",
    (why) => {
      expect(waits(why)).toBe(true);
    },
  );

  it("lacks none if it waits for something else, or has run before", () => {
    expect(waits("ContainerCreating")).toBe(false);
    expect(waits("ErrImagePull", { containerID: "containerd://1" })).toBe(false);
    expect(waits("ErrImagePull", { restartCount: 1 })).toBe(false);
    expect(waits("ErrImagePull", { lastState: { terminated: { exitCode: 1 } } })).toBe(false);
    expect(lacksAnImage({ metadata: {} })).toBe(false);
  });
});
