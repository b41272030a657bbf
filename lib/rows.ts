/** Names and values for a person to read, one pair a line, the values below each other. */
export function rows(pairs: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return `${pairs.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join("\n")}\n`;
}
