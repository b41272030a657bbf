// What reflection tells: the files that a compiler of Protocol Buffers would read, in the form that it would write
// (google/protobuf/descriptor.proto).
import { messageOf } from "./protobuf.mjs";

/**
 * package echo;
 *
 * message Text { string text = 1; }
 *
 * service Echo {
 *   rpc Say(Text) returns (Text);
 *   rpc Count(Text) returns (stream Text);
 *   rpc Chat(stream Text) returns (stream Text);
 * }
 */
const echo = {
  name: "echo.proto",
  package: "echo",
  messages: [{ name: "Text", fields: [{ name: "text", type: "string" }] }],
  service: "Echo",
  methods: [
    { name: "Say", asks: "Text", answers: "Text" },
    { name: "Count", asks: "Text", answers: "Text", answersMany: true },
    { name: "Chat", asks: "Text", answers: "Text", asksMany: true, answersMany: true },
  ],
};

/** https://grpc.io/docs/guides/health-checking/ */
const health = {
  name: "grpc/health/v1/health.proto",
  package: "grpc.health.v1",
  messages: [
    { name: "HealthCheckRequest", fields: [{ name: "service", type: "string" }] },
    {
      name: "HealthCheckResponse",
      fields: [{ name: "status", type: "enum", of: "HealthCheckResponse.ServingStatus" }],
      values: { name: "ServingStatus", names: ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"] },
    },
  ],
  service: "Health",
  methods: [{ name: "Check", asks: "HealthCheckRequest", answers: "HealthCheckResponse" }],
};

const files = [echo, health];
const types = { string: 9, enum: 14 };
const optional = 1;

const fieldOf = (file, { name, type, of }, index) =>
  messageOf(
    ...[
      [1, name],
      [3, index + 1],
      [4, optional],
      [5, types[type]],
    ],
    ...(of ? [[6, `.${file.package}.${of}`]] : []),
  );

const enumOf = ({ name, names }) =>
  messageOf([1, name], ...names.map((each, value) => [2, messageOf([1, each], [2, value])]));

const typeOf = (file, { name, fields, values }) =>
  messageOf(
    [1, name],
    ...fields.map((field, index) => [2, fieldOf(file, field, index)]),
    ...(values ? [[4, enumOf(values)]] : []),
  );

const methodOf = (file, { name, asks, answers, asksMany, answersMany }) =>
  messageOf(
    ...[
      [1, name],
      [2, `.${file.package}.${asks}`],
      [3, `.${file.package}.${answers}`],
    ],
    ...[
      [5, Number(asksMany ?? false)],
      [6, Number(answersMany ?? false)],
    ],
  );

const fileOf = (file) =>
  messageOf(
    ...[
      [1, file.name],
      [2, file.package],
    ],
    ...file.messages.map((message) => [4, typeOf(file, message)]),
    [6, messageOf([1, file.service], ...file.methods.map((method) => [2, methodOf(file, method)]))],
    [12, "proto3"],
  );

const serviceOf = (file) => `${file.package}.${file.service}`;

/** The names of all services. */
export const services = files.map(serviceOf);

/** The descriptor of the file of that name, or with that symbol; undefined: there is none. */
export function descriptorOf(name) {
  const found = files.find(
    (file) =>
      file.name === name ||
      [serviceOf(file), ...file.messages.map((message) => `${file.package}.${message.name}`)].includes(name) ||
      file.methods.some((method) => `${serviceOf(file)}.${method.name}` === name),
  );
  return found && fileOf(found);
}
