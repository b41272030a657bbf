/**
 * Replaces `$(NAME)` by the value of that variable, as Kubernetes does in `command`, `args` and `env` values. A
 * reference without a value stays as written. `$$` is one dollar sign, so `$$(NAME)` is never replaced.
 */
export function expand(text: string, lookUp: (name: string) => string | undefined): string {
  return text.replace(/\$(\$|\(([^)]*)\))/g, (reference, second: string, name: string | undefined) => {
    if (second === "$") return "$";
    return lookUp(name ?? "") ?? reference;
  });
}
