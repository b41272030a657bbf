import { type Browser, BrowserProcess, Remote } from "./remote.ts";

/** `certificatePin`: SHA-256 of the public key that it trusts, in base64. */
export async function startChromium(path: string, certificatePin: string): Promise<Browser> {
  await using opened = new AsyncDisposableStack();
  const chromium = opened.use(
    await BrowserProcess.start(path, (profile) => [
      ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"],
      `--user-data-dir=${profile}`,
      `--ignore-certificate-errors-spki-list=${certificatePin}`,
      "--remote-debugging-port=0",
      "about:blank",
    ]),
  );
  const remote = opened.use(await Remote.open(await chromium.address("DevTools listening on")));
  const { targetId } = await remote.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await remote.send("Target.attachToTarget", { targetId, flatten: true });
  const closing = opened.move();
  return {
    async open(url) {
      const { errorText } = await remote.send("Page.navigate", { url }, { sessionId });
      if (errorText !== undefined) throw new Error(`${url}: ${errorText}`);
    },
    async evaluate(expression) {
      const options = { expression: `String(${expression})`, returnByValue: true };
      const { result, exceptionDetails } = await remote.send("Runtime.evaluate", options, { sessionId });
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
      return textOf(result);
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** The value that a browser describes. */
export function textOf(described: unknown): string {
  const value: unknown =
    typeof described === "object" && described !== null ? Reflect.get(described, "value") : undefined;
  if (typeof value !== "string") throw new Error(`no text: ${JSON.stringify(described)}`);
  return value;
}
