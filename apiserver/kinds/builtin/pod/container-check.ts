import type { Container, ContainerPort, Probe, VolumeMount } from "../../../../api/kinds/core.ts";
import type { StatusCause } from "../../../../api/kinds/meta.ts";
import { repeatedAt } from "../../../../lib/data/repeated-at.ts";
import { labelName, portName } from "../../metadata/names.ts";
import { duplicate, forbidden, invalid, notFound, notSupported, required } from "../../schema/causes.ts";
import { checkPortNumber } from "../ports.ts";

const protocols = ["SCTP", "TCP", "UDP"];
const pullPolicies = ["Always", "IfNotPresent", "Never"];

/** Faults of one container in a Pod with these volumes. */
export function checkContainer(
  container: Container & { readonly imagePullPolicy?: string },
  field: string,
  volumes: ReadonlySet<string>,
): readonly StatusCause[] {
  const { image, imagePullPolicy = "Always" } = container;
  return [
    ...checkName(container.name, `${field}.name`),
    ...(image ? [] : [required(`${field}.image`)]),
    ...(image && image !== image.trim()
      ? [invalid(`${field}.image`, image, "must not have leading or trailing whitespace")]
      : []),
    ...(pullPolicies.includes(imagePullPolicy)
      ? []
      : [notSupported(`${field}.imagePullPolicy`, imagePullPolicy, pullPolicies)]),
    ...checkPorts(container.ports ?? [], `${field}.ports`),
    ...checkEnvironment(container.env ?? [], `${field}.env`),
    ...checkMounts(container.volumeMounts ?? [], `${field}.volumeMounts`, volumes),
    ...checkProbe(container.livenessProbe, `${field}.livenessProbe`, true),
    ...checkProbe(container.startupProbe, `${field}.startupProbe`, true),
    ...checkProbe(container.readinessProbe, `${field}.readinessProbe`, false),
  ];
}

function checkName(name: string | undefined, field: string): readonly StatusCause[] {
  if (name === undefined) return []; // the schema has reported it
  return name === "" ? [required(field)] : labelName(name).map((complaint) => invalid(field, name, complaint));
}

function checkPorts(ports: readonly ContainerPort[], field: string): readonly StatusCause[] {
  const repeated = repeatedAt(ports.map(({ name }) => name));
  return ports.flatMap(({ containerPort, hostPort, name, protocol = "TCP" }, index) => {
    const at = `${field}[${index}]`;
    const isRepeated = name && repeated.has(index);
    return [
      ...(name ? portName(name).map((complaint) => invalid(`${at}.name`, name, complaint)) : []),
      ...(isRepeated ? [duplicate(`${at}.name`, name)] : []),
      ...(containerPort === 0 ? [required(`${at}.containerPort`)] : []),
      ...(containerPort ? checkPortNumber(containerPort, `${at}.containerPort`) : []),
      ...(hostPort ? checkPortNumber(hostPort, `${at}.hostPort`) : []),
      ...(protocols.includes(protocol) ? [] : [notSupported(`${at}.protocol`, protocol, protocols)]),
    ];
  });
}

const environmentName = /^[\x20-\x3c\x3e-\x7e]+$/;

function checkEnvironment(variables: NonNullable<Container["env"]>, field: string): readonly StatusCause[] {
  return variables.flatMap(({ name, value, valueFrom }, index) => {
    const at = `${field}[${index}]`;
    const wording = "a valid environment variable name must consist only of printable ASCII characters other than '='";
    return [
      ...(name === "" ? [required(`${at}.name`)] : []),
      ...(name && !environmentName.test(name) ? [invalid(`${at}.name`, name, wording)] : []),
      ...(value && valueFrom ? [invalid(`${at}.valueFrom`, "", "may not be specified when `value` is not empty")] : []),
    ];
  });
}

function checkMounts(
  mounts: readonly VolumeMount[],
  field: string,
  volumes: ReadonlySet<string>,
): readonly StatusCause[] {
  const repeated = repeatedAt(mounts.map(({ mountPath }) => mountPath));
  return mounts.flatMap(({ name, mountPath, subPath }, index) => {
    const at = `${field}[${index}]`;
    const isRepeated = mountPath && repeated.has(index);
    return [
      ...(name === "" ? [required(`${at}.name`)] : []),
      ...(name && !volumes.has(name) ? [notFound(`${at}.name`, name)] : []),
      ...(mountPath === "" ? [required(`${at}.mountPath`)] : []),
      ...(isRepeated ? [invalid(`${at}.mountPath`, mountPath, "must be unique")] : []),
      ...(subPath?.startsWith("/") ? [invalid(`${at}.subPath`, subPath, "must be a relative path")] : []),
      ...(subPath?.split("/").includes("..") ? [invalid(`${at}.subPath`, subPath, "must not contain '..'")] : []),
    ];
  });
}

const handlers = ["exec", "httpGet", "tcpSocket", "grpc"] as const;
const amounts = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

function checkProbe(probe: Probe | undefined, field: string, succeedsOnce: boolean): readonly StatusCause[] {
  if (!probe) return [];
  const [first, second] = handlers.filter((handler) => probe[handler] !== undefined);
  const port = probe.httpGet?.port ?? probe.tcpSocket?.port ?? probe.grpc?.port;
  const negative = amounts.filter((amount) => (probe[amount] ?? 0) < 0);
  return [
    ...(first ? [] : [required(field, "must specify a handler type")]),
    ...(second ? [forbidden(`${field}.${second}`, "may not specify more than 1 handler type")] : []),
    ...(first && typeof port === "number" ? checkPortNumber(port, `${field}.${first}.port`) : []),
    ...(first && typeof port === "string"
      ? portName(port).map((complaint) => invalid(`${field}.${first}.port`, port, complaint))
      : []),
    ...negative.map((amount) => invalid(`${field}.${amount}`, probe[amount], "must be greater than or equal to 0")),
    ...(succeedsOnce && (probe.successThreshold ?? 1) !== 1
      ? [invalid(`${field}.successThreshold`, probe.successThreshold, "must be 1")]
      : []),
  ];
}
