import { withoutParameter } from "../find/query.ts";
import { cookieFor } from "./set-cookie.ts";

/** Where requests have credentials for the activator besides `Authorization`. No sandbox may see them. */
export interface HiddenCredentials {
  /** The cookie that is one, if any. */
  readonly sessionCookie: string | undefined;
  /** The query parameter that holds one, if any. */
  readonly hiddenParameter?: string | undefined;
}

/** Where clients see a sandbox that a path named, and how its responses change because of that. */
export interface BasePath extends HiddenCredentials {
  /** `PREFIX/NAMESPACE/NAME/PORT/`. */
  readonly text: string;
  /** Whether `Location` and the `Path` of cookies are moved below it. */
  readonly rewritesResponses: boolean;
  /** The Host that the sandbox got. */
  readonly podAuthority: string;
}

/** What the settings say about all sandboxes that paths name. */
interface PathSettings {
  readonly rewritesResponses: boolean;
  readonly session: { readonly cookieName: string; readonly queryParameter: string | undefined } | undefined;
}

export function basePathOf(text: string, podAuthority: string, settings: PathSettings): BasePath {
  return { text, podAuthority, rewritesResponses: settings.rewritesResponses, ...hiddenCredentials(settings) };
}

export function hiddenCredentials({ session }: Pick<PathSettings, "session">): HiddenCredentials {
  return { sessionCookie: session?.cookieName, hiddenParameter: session?.queryParameter };
}

/** What the fields of a response are changed for. */
export interface ClientView {
  /** The host of the request, as the client sent it. */
  readonly host: string;
  /** Undefined: the host or headers named the sandbox. */
  readonly base: BasePath | undefined;
  /** Set if headers did, on a host whose paths name sandboxes. */
  readonly shared?: HiddenCredentials | undefined;
}

/** How the request named its sandbox. */
export interface NamedBy {
  readonly byHost: boolean;
  /** Set if the path did. */
  readonly base?: BasePath | undefined;
  /** Set if headers did, on a host whose paths name sandboxes. */
  readonly shared?: HiddenCredentials | undefined;
}

/** Undefined: headers named the sandbox, so the fields stay as they are. The host belongs to the client or to a gateway. */
export function clientView(
  { host }: { readonly host: string },
  { byHost, base, shared }: NamedBy,
): ClientView | undefined {
  return byHost || base || shared ? { host, base, shared } : undefined;
}

/**
 * They act on all of an origin or host, which sandboxes that paths name share: reports of others' errors, the end of others' storage,
 * another server for all, a service worker for all.
 */
const originWide: readonly string[] = [
  ...["service-worker-allowed", "clear-site-data", "nel", "report-to", "reporting-endpoints", "alt-svc"],
  ...["strict-transport-security", "accept-ch"],
];
const isOriginWide: ReadonlySet<string> = new Set(originWide);

/** The fields of responses that may change, in lower case. */
export const changingFields: readonly string[] = ["set-cookie", "location", ...originWide];

/** The value of a field of a response for the client; undefined: the field is dropped. `name` in lower case. */
export function fieldFor(view: ClientView, name: string, value: string): string | undefined {
  const { host, base, shared } = view;
  if (shared) return isOriginWide.has(name) || setsSession(shared, name, value) ? undefined : value;
  switch (name) {
    case "set-cookie": {
      const cookie = cookieFor(host, value);
      return base && cookie !== undefined ? cookieBelow(base, cookie) : cookie;
    }
    case "location":
      return base?.rewritesResponses ? locationBelow(base, host, value) : value;
    default:
      return base && isOriginWide.has(name) ? undefined : value;
  }
}

/** Whether it would replace the activator's own cookie for any of the paths of the host. */
const setsSession = ({ sessionCookie }: HiddenCredentials, name: string, value: string) =>
  name === "set-cookie" && sessionCookie !== undefined && sentName(value.split(";", 1)[0] ?? "") === sessionCookie;

/** A URL of the sandbox's own, as its clients see it. Any other stays, and so does one that is below the base already. */
function locationBelow(base: BasePath, host: string, location: string): string {
  const [, authority, rest = ""] = /^(?:https?:)?\/\/([^/?#\\]*)(.*)$/i.exec(location) ?? [];
  if (authority === undefined) return location.startsWith("/") ? pathBelow(base, location) : location;
  const isOwn = [host, base.podAuthority].some((own) => own.toLowerCase() === authority.toLowerCase());
  if (!isOwn) return location;
  return pathBelow(base, rest.startsWith("/") ? rest : `/${rest}`);
}

function pathBelow({ text }: BasePath, path: string): string {
  const root = text.slice(0, -1);
  const isBelow = path.startsWith(root) && /^([/?#]|$)/.test(path.slice(root.length));
  return isBelow ? path : `${text}${path.slice(1)}`;
}

/** A cookie for paths of the sandbox alone. Undefined: it has the name of the activator's own cookie. */
function cookieBelow(base: BasePath, cookie: string): string | undefined {
  if (setsSession(base, "set-cookie", cookie)) return undefined;
  const [pair = "", ...attributes] = cookie.split(";");
  if (!base.rewritesResponses) return cookie;
  const moved = attributes.map((attribute) => {
    const [, before, path] = /^([ \t]*path[ \t]*=[ \t]*)(\/.*)$/i.exec(attribute) ?? [];
    return before === undefined || path === undefined ? attribute : `${before}${pathBelow(base, path)}`;
  });
  return [pair, ...moved].join(";");
}

/** Their values are URLs, of a page or as a gateway got them. */
const urlFields: readonly string[] = [
  ...["referer", "x-original-url", "x-original-uri", "x-rewrite-url", "x-envoy-original-path"],
];

/** The fields of requests that may hold a credential for the activator besides `Authorization`, in lower case. */
export const credentialFields: readonly string[] = ["cookie", ...urlFields];

/** The value of a field of a request, without what is a credential for the activator; undefined: nothing is left. `name` in lower case. */
export function withoutCredential(hidden: HiddenCredentials, name: string, value: string): string | undefined {
  const { sessionCookie, hiddenParameter } = hidden;
  if (name === "cookie" && sessionCookie !== undefined) return cookiesWithout(sessionCookie, value);
  if (hiddenParameter !== undefined && urlFields.includes(name)) return withoutParameter(value, hiddenParameter);
  return value;
}

/** The value of `Cookie` without the activator's own cookie; undefined: nothing is left. */
export function cookiesWithout(sessionCookie: string, value: string): string | undefined {
  const pairs = value.split(";");
  const kept = pairs.filter((pair) => cookieName(pair) !== sessionCookie);
  if (kept.length === pairs.length) return value;
  return kept.length === 0 ? undefined : kept.join(";").trim();
}

/** The first value of a cookie in a `Cookie` header. Nobody is authorized yet, so other pairs are not looked at. */
export function cookieValue(name: string, header: string): string | undefined {
  for (let at = header.indexOf(name); at >= 0; at = header.indexOf(name, at + 1)) {
    const start = header.lastIndexOf(";", at) + 1;
    const next = header.indexOf(";", at);
    const pair = header.slice(start, next < 0 ? header.length : next);
    if (cookieName(pair) === name) return pair.slice(pair.indexOf("=") + 1).trim();
    if (next < 0) return undefined;
    at = next;
  }
  return undefined;
}

/**
 * The name under which a browser sends a cookie. It sends one without a name as its value alone, which may read like a pair
 * (RFC 6265bis, 5.8.3).
 */
function sentName(pair: string): string {
  const end = pair.indexOf("=");
  const isNamed = end >= 0 && pair.slice(0, end).trim() !== "";
  return cookieName(isNamed ? pair : pair.slice(end + 1));
}

/** A pair without `=` is a value without a name. */
function cookieName(pair: string): string {
  const end = pair.indexOf("=");
  return end < 0 ? "" : pair.slice(0, end).trim();
}
