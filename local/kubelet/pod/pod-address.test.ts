import { describe, expect, it } from "vitest";
import { defaultPodNetwork, PodAddresses, parsePodNetwork } from "./pod-address.ts";

const open = (network = defaultPodNetwork) => new PodAddresses(parsePodNetwork(network));

describe("the address of a Pod", () => {
  it("is the same for the same Pod after a restart", () => {
    expect(open().take("uid-1", 0)).toBe(open().take("uid-1", 0));
  });

  it("is the one in the Pod's status, if that is free", () => {
    expect(open().take("uid-1", 0, "127.70.1.2")).toBe("127.70.1.2");
  });

  it.each(["127.0.0.1", "10.0.0.1", "::1", "nonsense"])("is never %s, whatever the Pod's status", (wished) => {
    expect(open().take("uid-1", 0, wished)).toBe(open().take("uid-1", 0));
  });

  it("belongs to one living Pod at a time", () => {
    const addresses = open("127.64.0.0/24");
    const taken = Array.from({ length: 254 }, (_, index) => addresses.take(`uid-${index}`, 0));
    expect(new Set(taken).size).toBe(254);
    expect(taken.every((address) => /^127\.64\.0\.(?!0$|255$)/.test(address))).toBe(true);
    expect(() => addresses.take("one-too-many", 0)).toThrow("no Pod address is free");
  });

  it("is not given to another Pod within a minute", () => {
    const addresses = open("127.64.0.0/24");
    const address = addresses.take("uid-1", 0);
    addresses.free(address, "uid-1", 1_000);
    expect(addresses.take("uid-2", 60_999, address)).not.toBe(address);
    expect(addresses.take("uid-3", 61_000, address)).toBe(address);
  });

  it("is given back only by the Pod that has it", () => {
    const addresses = open();
    const address = addresses.take("uid-1", 0);
    addresses.free(address, "uid-2", 0);
    expect(addresses.take("uid-3", 100_000, address)).not.toBe(address);
  });
});

it.each(["127.0.0.0/8", "10.0.0.0/8", "127.64.0.1/10", "127.64.0.0/25", "127.0.0.0/24", "127.64.0.0"])(
  "refuses %s as a Pod network",
  (cidr) => {
    expect(() => parsePodNetwork(cidr)).toThrow(RangeError);
  },
);
