import { describe, expect, it } from "vitest";
import { tcpFrontPortsPerNamespaceMax } from "../../../api/between-programs/tcp-front.ts";
import { NamespacePorts } from "./namespace-ports.ts";

describe("the number of ports of a namespace", () => {
  it("counts a port once that is quarantined and that a slice there has again", () => {
    const ports = new NamespacePorts();
    ports.add("kept", 10_001, "lab");
    ports.add("quarantined", 10_001, "lab");
    expect(ports.of("lab")).toBe(1);
    ports.remove("kept", 10_001);
    expect(ports.of("lab")).toBe(1);
    ports.add("kept", 10_001, "lab");
    ports.remove("quarantined", 10_001);
    expect(ports.of("lab")).toBe(1);
    ports.remove("kept", 10_001);
    ports.remove("kept", 10_001);
    expect(ports.of("lab")).toBe(0);
  });

  it("counts a port for both namespaces if one has it in quarantine and the other has a slice with it", () => {
    const ports = new NamespacePorts();
    ports.add("quarantined", 10_001, "lab");
    ports.add("kept", 10_001, "other");
    expect([ports.of("lab"), ports.of("other")]).toEqual([1, 1]);
    ports.add("kept", 10_001, "third");
    expect([ports.of("other"), ports.of("third")]).toEqual([0, 1]);
  });

  it("leaves room for the ports that count already, and for no other, once it has as many as it may have", () => {
    const ports = new NamespacePorts();
    const all = Array.from({ length: tcpFrontPortsPerNamespaceMax }, (_, at) => 10_000 + at);
    for (const port of all) {
      expect(ports.hasRoom(port, "lab")).toBe(true);
      ports.add("quarantined", port, "lab");
    }
    expect(all.every((port) => ports.hasRoom(port, "lab"))).toBe(true);
    expect([ports.hasRoom(31_999, "lab"), ports.hasRoom(10_000, "other")]).toEqual([false, true]);
  });
});
