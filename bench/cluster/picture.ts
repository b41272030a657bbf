/** One part of a duration. */
export interface Segment {
  readonly name: string;
  readonly ms: number;
}

const width = 760;
const margin = 12;
const barTop = 40;
const barHeight = 34;
const lineHeight = 20;
const colors = ["#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#9c755f"];

/** An SVG with one bar of all segments, in proportion to their durations, and a legend below it. */
export function stackedBar(title: string, segments: readonly Segment[]): string {
  const total = segments.reduce((sum, { ms }) => sum + Math.max(0, ms), 0);
  const scale = (width - 2 * margin) / total;
  const height = barTop + barHeight + lineHeight * (segments.length + 1) + margin;
  let x = margin;
  const drawn = segments.map(({ name, ms }, at) => {
    const color = colors[at % colors.length];
    const length = Math.max(0, ms) * scale;
    const y = barTop + barHeight + lineHeight * (at + 1);
    const part = [
      `<rect x="${fixed(x)}" y="${barTop}" width="${fixed(length)}" height="${barHeight}" fill="${color}"/>`,
      `<rect x="${margin}" y="${y - 10}" width="12" height="12" fill="${color}"/>`,
      `<text x="${margin + 20}" y="${y}">${escaped(name)}</text>`,
      `<text x="${width - margin}" y="${y}" text-anchor="end">${ms.toFixed(1)} ms</text>`,
    ];
    x += length;
    return part.join("\n");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">
<title>${escaped(title)}</title>
<rect width="${width}" height="${height}" fill="#ffffff"/>
<text x="${margin}" y="24" font-size="15">${escaped(title)}: ${total.toFixed(0)} ms</text>
${drawn.join("\n")}
</svg>
`;
}

const fixed = (value: number) => value.toFixed(1);
const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
