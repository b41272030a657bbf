/** File descriptors belong to the process, so the count is global. */
let open = 0;

/** A socket with a reader was opened (1) or closed (-1). */
export function countSocket(change: 1 | -1): void {
  open += change;
}

/** The number of open sockets of this kind in this process, accepted and dialled. */
export const openSockets = (): number => open;

/** Counts a socket without a reader until disposed of, once. */
export function holdDescriptor(): Disposable {
  let held = 1;
  open += held;
  return {
    [Symbol.dispose]() {
      open -= held;
      held = 0;
    },
  };
}
