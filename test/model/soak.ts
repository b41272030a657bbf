import { large, small } from "./configurations.ts";
import { type Exploration, explore } from "./explore.ts";
import { handshake } from "./handshake.ts";

/** Explores every configuration completely, including the large ones: a gigabyte for each million states. */
export function* exploreEverything(): Generator<Exploration & { readonly about: string }> {
  for (const { about, limits } of [...small, ...large]) yield { about, ...explore(handshake(limits), 8_000_000) };
}
