const kills = new Set<() => void>();

const killAll = () => {
  for (const kill of kills) kill();
};

/**
 * Calls `kill` if this process exits before that is disposed of, as after a second signal or an error that nothing caught. It must
 * be synchronous, and not throw.
 */
export function killedAtExit(kill: () => void): Disposable {
  if (kills.size === 0) process.on("exit", killAll);
  kills.add(kill);
  return {
    [Symbol.dispose]() {
      if (kills.delete(kill) && kills.size === 0) process.off("exit", killAll);
    },
  };
}
