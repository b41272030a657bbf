import { get as getPlain } from "node:http";
import { get as getSecure } from "node:https";

const patienceMs = 2_000;

/** Whether a component on this machine answers 200. HTTPS certificates are self-signed and not verified. */
export function answersOk(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { agent: false, timeout: patienceMs, rejectUnauthorized: false } as const;
    const request = (url.startsWith("https:") ? getSecure : getPlain)(url, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(false));
    request.on("close", () => resolve(false));
  });
}
