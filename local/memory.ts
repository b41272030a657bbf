import type { MemoryProvider } from "../controller/suspension/hibernation/memory-provider.ts";

/** A process of this machine ends with its memory. */
export const localMemory: MemoryProvider = {
  preflight: () => ({ reason: "NoGvisor", message: "local mode has no gVisor" }),
};
