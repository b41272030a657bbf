import type { StatusCause } from "../../../api/kinds/meta.ts";

// The reasons and texts of apimachinery's field errors, as in API servers of 1.36.

export function required(field: string, detail?: string): StatusCause {
  return cause("FieldValueRequired", field, withDetail("Required value", detail));
}

export function invalid(field: string, value: unknown, detail: string): StatusCause {
  return cause("FieldValueInvalid", field, `Invalid value: ${shown(value)}: ${detail}`);
}

/** For values that are too large to be repeated. */
export function invalidWithoutValue(field: string, detail: string): StatusCause {
  return cause("FieldValueInvalid", field, `Invalid value: ${detail}`);
}

export function typeInvalid(field: string, value: unknown, detail: string): StatusCause {
  return cause("FieldValueTypeInvalid", field, `Invalid value: ${shown(value)}: ${detail}`);
}

export function notSupported(field: string, value: unknown, supported: readonly unknown[]): StatusCause {
  const values = supported.map((one) => JSON.stringify(String(one))).join(", ");
  return cause("FieldValueNotSupported", field, `Unsupported value: ${shown(value)}: supported values: ${values}`);
}

export function duplicate(field: string, value: unknown): StatusCause {
  return cause("FieldValueDuplicate", field, `Duplicate value: ${shown(value)}`);
}

export function notFound(field: string, value: unknown): StatusCause {
  return cause("FieldValueNotFound", field, `Not found: ${shown(value)}`);
}

export function forbidden(field: string, detail: string): StatusCause {
  return cause("FieldValueForbidden", field, `Forbidden: ${detail}`);
}

export function tooLong(field: string, maxBytes: number): StatusCause {
  return cause("FieldValueTooLong", field, `Too long: may not be more than ${maxBytes} bytes`);
}

export function tooMany(field: string, actual: number, max: number): StatusCause {
  return cause("FieldValueTooMany", field, `Too many: ${actual}: must have at most ${max} item${max === 1 ? "" : "s"}`);
}

function cause(reason: string, field: string, message: string): StatusCause {
  return { reason, message, field };
}

function withDetail(text: string, detail: string | undefined): string {
  return detail ? `${text}: ${detail}` : text;
}

function shown(value: unknown): string {
  return value === undefined ? '""' : value === null ? "null" : JSON.stringify(value);
}
