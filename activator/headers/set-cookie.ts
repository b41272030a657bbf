/** What a browser takes for the name of a host as it is. It may read any other text as another name. */
const plainName = /^[a-z0-9_-][a-z0-9._-]*$/;

/** Neither a name nor a value. Browsers ignore such a cookie, says the draft that follows RFC 6265. */
const isEmpty = (pair: string): boolean => ["", "="].includes(pair.replace(/[ \t]/g, ""));

/**
 * The value of `Set-Cookie` for a client: without a `Domain` that names the host of the sandbox, a parent of it, or no plain name.
 * The cookie then belongs to that host alone. With a parent, browsers would send it to the sandboxes of other tenants.
 * Undefined: without the domain nothing is left that a browser takes for a cookie, so the field is dropped.
 */
export function cookieFor(cookieHost: string, value: string): string | undefined {
  if (!/domain/i.test(value)) return value;
  const [pair = "", ...attributes] = value.split(";");
  const host = cookieHost.toLowerCase().replace(/\.?(:\d*)?$/, "");
  const kept = attributes.filter((attribute) => !widens(attribute, host));
  if (kept.length === attributes.length) return value;
  return isEmpty(pair) ? undefined : [pair, ...kept].join(";");
}

function widens(attribute: string, host: string): boolean {
  const end = attribute.indexOf("=");
  if (end < 0 || attribute.slice(0, end).trim().toLowerCase() !== "domain") return false;
  const written = attribute
    .slice(end + 1)
    .trim()
    .toLowerCase();
  const domain = written.replace(/^\./, "").replace(/\.$/, "");
  return !plainName.test(domain) || domain.endsWith(".") || domain === host || host.endsWith(`.${domain}`);
}
