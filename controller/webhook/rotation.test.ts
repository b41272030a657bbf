import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { webhookHost, webhookService } from "../../test/support/labs/webhook-world.ts";
import { makeCertificates, withNewAuthority, withNewServer } from "./make-certificates.ts";
import { checkAgainMaxMs, formerAuthoritiesMax, nextRotationStep, settleMs } from "./rotation.ts";

const made = new Date("2026-01-01T00:00:00Z");
const dayMs = 24 * 3_600_000;
const day = (days: number, ms = 0): Date => new Date(made.getTime() + days * dayMs + ms);
const domain = "cluster.local";
const fresh = await makeCertificates(webhookService, domain, made);
const { authorityKey: _, ...theirs } = { ...fresh };
const withoutKey = { ...theirs, authorityKey: undefined };
const step = (set: typeof fresh, at: Date, host = webhookHost) => nextRotationStep(set, host, at);

describe("certificates that were just made", () => {
  it("are good for a year, under all names of the Service", () => {
    const shown = new X509Certificate(fresh.server.certificate);
    expect(shown.subject).toBe(`CN=${webhookHost}`);
    expect(shown.subjectAltName).toBe(
      `DNS:agent-sandbox-webhook-service, DNS:agent-sandbox-webhook-service.agent-sandbox-system, DNS:${webhookHost}, DNS:${webhookHost}.cluster.local`,
    );
    const authority = new X509Certificate(fresh.authorities[0] ?? "");
    expect(authority.subject).toBe("CN=agent-sandbox-conversion-webhook-ca");
    for (const { validFromDate, validToDate } of [shown, authority]) {
      expect([validFromDate, validToDate]).toEqual([day(0, -3_600_000), day(365)]);
    }
  });

  it("are kept until a month before they expire, and checked twice a day", () => {
    expect(step(fresh, made)).toEqual({ do: "keep", checkAgainMs: checkAgainMaxMs });
    expect(step(fresh, day(335, -1_000))).toEqual({ do: "keep", checkAgainMs: 1_000 });
  });
});

describe("certificates that end soon", () => {
  it("get a new authority first, which signs after it is trusted everywhere", async () => {
    expect(step(fresh, day(335))).toEqual({ do: "renewAuthority" });
    const announced = await withNewAuthority(fresh, day(335));
    expect(announced.server).toEqual(fresh.server);
    expect(announced.authorities.slice(1)).toEqual(fresh.authorities);
    expect(step(announced, day(335))).toEqual({ do: "keep", checkAgainMs: settleMs });
    expect(step(announced, day(335, settleMs))).toEqual({ do: "renewServer" });
    const renewed = await withNewServer(announced, webhookService, domain, day(335, settleMs));
    expect(renewed.authorities).toEqual(announced.authorities);
    expect(step(renewed, day(335, settleMs))).toEqual({ do: "keep", checkAgainMs: checkAgainMaxMs });
  });

  it("lose the authorities that have ended when the next one comes", async () => {
    const second = await withNewAuthority(fresh, day(335));
    const third = await withNewAuthority(second, day(670));
    expect(third.authorities).toHaveLength(2);
    expect(third.authorities[1]).toBe(second.authorities[0]);
  });

  it("that no client may trust any more are replaced at once", async () => {
    expect(step(fresh, day(366))).toEqual({ do: "renewAuthority" });
    const announced = await withNewAuthority(fresh, day(366));
    expect(announced.authorities).toHaveLength(1);
    expect(step(announced, day(366))).toEqual({ do: "renewServer" });
  });
});

describe("certificates that a clock ahead of time made", () => {
  it("are replaced at once, with their authority", async () => {
    expect(step(fresh, day(-2))).toEqual({ do: "renewAuthority" });
    const signedNow = await withNewServer(fresh, webhookService, domain, day(-2));
    expect(step(signedNow, day(-2))).toEqual({ do: "renewAuthority" });
    const announced = await withNewAuthority(fresh, day(-2));
    expect(step(announced, day(-2))).toEqual({ do: "renewServer" });
    const renewed = await withNewServer(announced, webhookService, domain, day(-2));
    expect(step(renewed, day(-2))).toEqual({ do: "keep", checkAgainMs: checkAgainMaxMs });
  });

  it("do not make the Secret grow without end, however often replicas renew them", async () => {
    let set = fresh;
    for (let turn = 0; turn < 20; turn += 1) set = await withNewAuthority(set, day(turn % 2));
    expect(set.authorities).toHaveLength(1 + formerAuthoritiesMax);
  });
});

describe("a server certificate", () => {
  it("for another Service is replaced at once by one of the same authority", async () => {
    expect(step(fresh, day(1), "renamed.agent-sandbox-system.svc")).toEqual({ do: "renewServer" });
    const renamed = await withNewServer(fresh, { ...webhookService, name: "renamed" }, domain, day(1));
    expect(renamed.authorities).toEqual(fresh.authorities);
    expect(step(renamed, day(1), "renamed.agent-sandbox-system.svc").do).toBe("keep");
  });

  it("never outlives its authority", async () => {
    const renewed = await withNewServer(fresh, webhookService, domain, day(100));
    expect(new X509Certificate(renewed.server.certificate).validToDate).toEqual(day(365));
  });

  it("by an authority without its key is kept, and then needs a new authority", () => {
    expect(step(withoutKey, day(1)).do).toBe("keep");
    expect(step(withoutKey, day(340)).do).toBe("renewAuthority");
  });

  it("by an untrusted authority is replaced", async () => {
    const stranger = await makeCertificates(webhookService, domain, made);
    expect(step({ ...fresh, server: stranger.server }, day(1)).do).toBe("renewServer");
  });
});
