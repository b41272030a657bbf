import type { MemoryImage } from "../kinds/memory-image.ts";

/** Whether its node has removed an image to make room for another one. */
export const isEvicted = ({ status }: MemoryImage): boolean => status?.phase === "Lost" && status.reason === "Evicted";
