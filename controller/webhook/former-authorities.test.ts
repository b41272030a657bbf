import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { countOf, webhookService } from "../../test/support/labs/webhook-world.ts";
import { FormerAuthorities } from "./former-authorities.ts";
import { makeCertificates } from "./make-certificates.ts";
import { settleMs } from "./rotation.ts";

const clock = new FakeClock();
const anAuthority = async (at = clock.now()) => {
  const { authorities } = await makeCertificates(webhookService, "cluster.local", at);
  return authorities.join("");
};
const current = await anAuthority();
const former = await Promise.all(Array.from({ length: 9 }, () => anAuthority()));
const bundle = [current, ...former].join("\n");

describe("the authorities that a definition names and the Secret does not", () => {
  it("stay trusted until they have settled, and are not taken for new ones after that", async () => {
    const authorities = new FormerAuthorities(clock);
    expect(authorities.nextEndMs).toBeUndefined();
    const kept = authorities.keptOf(`${current}\n${former[0]}`, current);
    expect(kept.map((pem) => pem.trim())).toEqual([former[0]?.trim()]);
    await clock.advance(settleMs - 1);
    expect([authorities.nextEndMs, authorities.keptOf(bundle, current).length]).toEqual([1, 8]);
    await clock.advance(1);
    expect(authorities.keptOf(`${current}\n${former[0]}`, current)).toEqual([]);
    await clock.advance(settleMs);
    expect([authorities.nextEndMs, authorities.keptOf(bundle, current)]).toEqual([undefined, []]);
  });

  it("are so few that Secrets made over and over do not make a definition grow", () => {
    const kept = new FormerAuthorities(clock).keptOf(bundle, current);
    expect([countOf(bundle), kept.length]).toEqual([10, 8]);
  });

  it("are not kept when they have ended, or are no certificates", async () => {
    const ended = await anAuthority(new Date(clock.now().getTime() - 400 * 24 * 3_600_000));
    const broken = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n";
    expect(new FormerAuthorities(clock).keptOf(ended + broken, current)).toEqual([]);
  });
});
