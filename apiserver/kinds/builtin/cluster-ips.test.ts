import { expect, it } from "vitest";
import { StatusError } from "../../status-errors.ts";
import { loopbackClusterIps } from "./cluster-ips.ts";

it("an address is given again only once each other one has been used", () => {
  const addresses = loopbackClusterIps(1, 4);
  const given = Array.from({ length: 5 }, () => {
    const address = addresses.next();
    addresses.hold(address);
    addresses.release(address);
    return address;
  });
  expect(given).toEqual(["127.96.0.1", "127.96.0.2", "127.96.0.3", "127.96.0.1", "127.96.0.2"]);
});

it("no address is given while each one has a Service, and a released one is given then", () => {
  const addresses = loopbackClusterIps(1, 3);
  for (let number = 0; number < 2; number += 1) addresses.hold(addresses.next());
  expect(() => addresses.next()).toThrow(StatusError);
  expect(() => addresses.next()).toThrow("range is full");
  addresses.release("127.96.0.2");
  expect(addresses.next()).toBe("127.96.0.2");
});
