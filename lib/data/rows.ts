/** Names and values as text, one pair on a line, with aligned values. */
export function rows(pairs: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return `${pairs.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join("\n")}\n`;
}
