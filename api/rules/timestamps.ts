import type { KubeObject, Stored } from "../kinds/meta.ts";

// Times as text: their validity for an API server, and their value. All code that reads a time from an object uses
// this.

const timeOfDay = /^([0-9]{2}):([0-9]{2}):([0-9]{2})([^\n][0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$/u;
const rfc3339 = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:[.,](\d+))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Whether an API server accepts a text for `format: date`: `IsDate` in kube-openapi's `strfmt`. */
export function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined) return false;
  const daysMax = new Date(0);
  // The day before the first of the next month; the setter accepts years below 100 unchanged.
  daysMax.setUTCFullYear(Number(year), Number(month), 0);
  return Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= daysMax.getUTCDate();
}

/**
 * Whether an API server accepts a text for `format: date-time`: `IsDateTime` in kube-openapi's `strfmt`. It accepts
 * more than RFC 3339: any offset of two digits each, any character for the decimal point, and anything after a second
 * T.
 */
export function isDateTime(text: string): boolean {
  const [date = "", time] = text.toLowerCase().split("t", 2);
  if (time === undefined || !isDate(date)) return false;
  const [, hour, minute, second] = timeOfDay.exec(time) ?? [];
  if (hour === undefined || minute === undefined || second === undefined) return false;
  return hour <= "23" && minute <= "59" && second <= "59";
}

/**
 * The time of an RFC 3339 text, as Go parses it, also with a comma for a decimal point. Undefined for everything else,
 * including absence: malformed counts as absent. The value may have another type: API servers accept a list of anything
 * where the schema says `type: string` with a format (`TypeValidator` in kube-openapi).
 */
export function readTime(text: unknown): Date | undefined {
  if (typeof text !== "string") return undefined;
  const [, date, time, fraction = "0", offset] = rfc3339.exec(text) ?? [];
  if (date === undefined || !isDateTime(text)) return undefined;
  const moment = new Date(`${date}T${time}.${fraction.slice(0, 3).padEnd(3, "0")}${offset?.toUpperCase()}`);
  return Number.isNaN(moment.getTime()) ? undefined : writable(moment);
}

/**
 * When an object was created. The API server itself sets this time, in one form and whatever a client writes, so it needs no
 * check; it is read in each comparison of a sort.
 */
export const createdMs = ({ metadata }: Stored<KubeObject>): number => Date.parse(metadata.creationTimestamp);

const earliestMs = Date.parse("0001-01-01T00:00:00Z");
const latestMs = Date.parse("9999-12-31T23:59:59Z");

/**
 * The nearest time whose year in UTC has four digits (RFC 3339, section 5.6). A text with an offset may be a time beyond:
 * `9999-12-31T23:59:59-01:00` is in the year 10000, which no API server accepts in a status.
 */
export const writable = (time: Date): Date => writableAt(time.getTime());

/** The same for milliseconds since the epoch. A sum with a number of a user may be beyond what a `Date` can be. */
export const writableAt = (ms: number): Date => new Date(Math.min(Math.max(ms, earliestMs), latestMs));

/** Whether a time field has a value that cannot be parsed. */
export const isUnreadableTime = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== "" && readTime(value) === undefined;

const reportedTextMax = 64;

/** The message about fields with malformed times; undefined if all are valid. */
export function unreadableTimesText(fields: Readonly<Record<string, unknown>>): string | undefined {
  const reported = Object.entries(fields).flatMap(([field, value]) =>
    isUnreadableTime(value) ? [`${field} ${shown(value)}`] : [],
  );
  return reported.length > 0 ? `ignored, because the value is no time by RFC 3339: ${reported.join(", ")}` : undefined;
}

// A list may be nested so deep that nothing can print it.
const shown = (value: unknown): string =>
  typeof value === "string"
    ? JSON.stringify(value.slice(0, reportedTextMax))
    : `a ${Array.isArray(value) ? "list" : typeof value}`;
