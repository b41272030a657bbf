// What a browser is shown while a sandbox wakes (autoResume.waitPage). The page loads itself again until the sandbox answers.
import { headerValue, type RequestHead } from "../request.ts";
import type { ActivatorError } from "./errors-for-clients.ts";
import { htmlPage, prefersPage } from "./html-page.ts";

/** Time until the wait page, so that a person sees a response within a second. */
export const waitPageAfterMs = 1_000;

/** Whether a person opens a page, rather than a program fetching data (Fetch Metadata, "navigate"). */
export function isNavigation(head: RequestHead): boolean {
  return (
    head.method === "GET" &&
    !head.upgrade &&
    headerValue(head.headers, "sec-fetch-mode")?.toLowerCase() === "navigate" &&
    prefersPage(head.headers)
  );
}

/** The page of the error `Waking`. */
export function waitPage({ detail, retryAfterSeconds = 1 }: ActivatorError): string {
  return htmlPage("Waking up…", detail, `<meta http-equiv="refresh" content="${retryAfterSeconds}">`);
}
