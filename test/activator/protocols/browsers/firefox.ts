import { textOf } from "./chromium.ts";
import { type Browser, BrowserProcess, Remote } from "./remote.ts";

/** Driven by WebDriver BiDi. It accepts every certificate. */
export async function startFirefox(path: string): Promise<Browser> {
  await using opened = new AsyncDisposableStack();
  const firefox = opened.use(
    await BrowserProcess.start(path, (profile) => [
      ...["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"],
    ]),
  );
  const address = await firefox.address("WebDriver BiDi listening on");
  const remote = opened.use(await Remote.open(`${address}/session`));
  await remote.send("session.new", { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } });
  const { context } = await remote.send("browsingContext.create", { type: "tab" });
  const closing = opened.move();
  return {
    async open(url) {
      await remote.send("browsingContext.navigate", { context, url, wait: "interactive" });
    },
    async evaluate(expression) {
      const options = { expression: `String(${expression})`, target: { context }, awaitPromise: false };
      const { type, result, exceptionDetails } = await remote.send("script.evaluate", options);
      if (type !== "success") throw new Error(JSON.stringify(exceptionDetails));
      return textOf(result);
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
