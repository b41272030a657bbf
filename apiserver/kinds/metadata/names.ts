/** The faults of a name, one sentence each. */
export type NameRule = (name: string) => readonly string[];

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const dns1035Label = "[a-z]([-a-z0-9]*[a-z0-9])?";

const isLabel = new RegExp(`^${label}$`);
const isDns1035Label = new RegExp(`^${dns1035Label}$`);

const tooLong = (max: number) => `must be no more than ${max} bytes`;

/** RFC 1123 label: namespaces, containers, volumes. */
export const labelName: NameRule = (name) => [
  ...(name.length > 63 ? [tooLong(63)] : []),
  ...(isLabel.test(name)
    ? []
    : [
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " +
          `with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`,
      ]),
];

/** RFC 1035 label: Services. */
export const serviceName: NameRule = (name) => [
  ...(name.length > 63 ? [tooLong(63)] : []),
  ...(isDns1035Label.test(name)
    ? []
    : [
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic " +
          "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation " +
          `is '${dns1035Label}')`,
      ]),
];

/** IANA service name: named ports of containers. */
export const portName: NameRule = (name) => [
  ...(name.length > 15 ? ["must be no more than 15 characters"] : []),
  ...(/^[-a-z0-9]*$/.test(name) ? [] : ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]),
  ...(/[a-z]/.test(name) ? [] : ["must contain at least one letter (a-z)"]),
  ...(name.includes("--") ? ["must not contain consecutive hyphens"] : []),
  ...(/^-|-$/.test(name) ? ["must not begin or end with a hyphen"] : []),
];

/** Keys of ConfigMaps and Secrets. */
export const dataKey: NameRule = (key) => [
  ...(key.length > 253 ? [tooLong(253)] : []),
  ...(/^[-._a-zA-Z0-9]+$/.test(key)
    ? []
    : [
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME'," +
          "  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      ]),
];
