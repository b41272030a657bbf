/** An origin of the web in lower case and without the default port; undefined if the text is none, such as `null`. */
export function originOf(text: string): string | undefined {
  const origin = text.toLowerCase();
  if (!/^https?:\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/.test(origin)) return undefined;
  return origin.replace(origin.startsWith("https:") ? /:443$/ : /:80$/, "");
}
