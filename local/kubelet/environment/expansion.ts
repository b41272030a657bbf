/** The values together are too long. */
export class ExpansionTooLong extends Error {
  override readonly name = "ExpansionTooLong";
}

/**
 * Replaces `$(NAME)` by the value of that variable, as Kubernetes does in `command`, `args` and `env` values. A
 * reference without a value stays as written. `$$` is one dollar sign, so `$$(NAME)` is never replaced.
 *
 * @throws ExpansionTooLong before the text exists, when the inserted values have more than `bytesMax` bytes: values that
 * repeat the one before grow exponentially.
 */
export function expand(text: string, lookUp: (name: string) => string | undefined, bytesMax: number): string {
  let leftBytes = bytesMax;
  // No position is scanned twice: where no parenthesis closes, one match takes all the rest of the text.
  return text.replace(/\$(?:\$|\(([^)]*)(\)?))/g, (reference: string, name?: string, closing?: string) => {
    if (name === undefined) return "$";
    if (!closing) return reference.replaceAll("$$", () => "$");
    const value = lookUp(name);
    if (value === undefined) return reference;
    // A value has at least as many bytes as units.
    leftBytes -= value.length;
    if (leftBytes < 0) throw new ExpansionTooLong(`the values of variables have more than ${bytesMax} bytes`);
    return value;
  });
}
