import { describe, expect, it } from "vitest";
import type { ContainerState, ContainerStatus, Pod } from "../../../api/kinds/pod.ts";
import { containerImagesOf, isWithoutHope, waitsForAnImage, withImages } from "./container-images.ts";

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

  it("are known with the id of each container, if it is one that the API takes", () => {
    const withId = (containerID: string) => imagesOf({ ...statusOf(digest), containerID });
    expect(withId("containerd://5c0e")).toEqual([{ name: "main", image: digest, containerID: "5c0e" }]);
    for (const other of ["", "containerd://", "c".repeat(254)]) {
      expect(withId(other)).toEqual([{ name: "main", image: digest }]);
    }
  });

  it("are unknown without a status, and if there are more than a MemoryImage names", () => {
    expect(containerImagesOf({})).toBeUndefined();
    expect(imagesOf()).toBeUndefined();
    const containers = Array.from({ length: 129 }, (_, index) => statusOf(digest, `c${index}`));
    expect(imagesOf(...containers)).toBeUndefined();
    expect(imagesOf(...containers.slice(1))).toHaveLength(128);
  });
});

it("a Pod that goes on from memory names each image by its content, and pulls only what is missing", () => {
  const containers = [
    { name: "main", image: "worker", imagePullPolicy: "Always", command: ["run"] },
    { name: "constructor", image: "helper", imagePullPolicy: "Always" },
    { name: "local", image: "tool", imagePullPolicy: "Never" },
  ];
  const images = [
    { name: "main", image: `worker@${digest}` },
    { name: "constructor", image: digest },
    { name: "local", image: `tool@${digest}` },
  ];
  expect(withImages({ containers, hostname: "nova" }, images)).toEqual({
    containers: [
      { name: "main", image: `worker@${digest}`, imagePullPolicy: "IfNotPresent", command: ["run"] },
      { name: "constructor", image: digest, imagePullPolicy: "Never" },
      { name: "local", image: `tool@${digest}`, imagePullPolicy: "Never" },
    ],
    hostname: "nova",
  });
  expect(withImages({ containers }, images.slice(0, 1))).toBeUndefined();
});

describe("a Pod", () => {
  const podOf = (reason: string, more: Partial<ContainerStatus> = {}): Pod => {
    const state: ContainerState = { waiting: { reason } };
    return {
      metadata: {},
      status: { containerStatuses: [statusOf(digest, "ready"), { ...statusOf(""), state, ...more }] },
    };
  };

  it.each(["InvalidImageName", "ErrImageNeverPull"])("lacks an image for good: %s", (why) => {
    expect(isWithoutHope(podOf(why))).toBe(true);
  });

  it.each(["ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"])(
    "waits for an image that may come: %s",
    (why) => {
      expect([isWithoutHope(podOf(why)), waitsForAnImage(podOf(why))]).toEqual([false, true]);
    },
  );

  it("lacks none if it waits for something else, or has run before", () => {
    for (const pod of [
      podOf("ContainerCreating"),
      podOf("ErrImagePull", { containerID: "containerd://1" }),
      podOf("ErrImageNeverPull", { restartCount: 1 }),
      podOf("ErrImagePull", { lastState: { terminated: { exitCode: 1 } } }),
      { metadata: {} },
    ]) {
      expect(isWithoutHope(pod)).toBe(false);
      expect(waitsForAnImage(pod)).toBe(false);
    }
  });
});
