import { expect, it } from "vitest";
import { silentLogger } from "../lib/log/log.ts";
import { loopbackPlaces, usableLoopback } from "./loopback-places.ts";

it("each data directory has places of its own, and the same ones each time", () => {
  const places = loopbackPlaces("/home/ada/rouse/.rouse");
  expect(loopbackPlaces("/home/ada/rouse/.rouse")).toEqual(places);
  expect(loopbackPlaces("/home/ben/rouse/.rouse")).not.toEqual(places);
  expect(places.activator).toMatch(/^127\.(11[2-9]|12[0-7])\.\d+\.\d+$/);
});

it("an address that this system does not have is not used", async () => {
  expect(await usableLoopback("192.0.2.1", silentLogger)).toBe("127.0.0.1");
});
