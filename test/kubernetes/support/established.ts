import { eventually } from "./eventually.ts";

/** kubectl fails at once, in place of waiting, on a definition that has no conditions yet: the server shows them as null. */
const noConditionsYet = ".status.conditions accessor error";

/** Waits until the API server serves definitions. `wait` runs kubectl with the words. */
export const established = (wait: (words: readonly string[]) => Promise<unknown>, definitions: readonly string[]) =>
  eventually(() =>
    wait(["wait", "--for=condition=Established", ...definitions, "--timeout=60s"]).then(
      () => true,
      (error: unknown) => {
        if (String(error).includes(noConditionsYet)) return false;
        throw error;
      },
    ),
  );
