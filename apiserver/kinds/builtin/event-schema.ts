import { described, int32, object, text, time } from "../../../api/crd/shapes.ts";
import { nullableTime } from "../schema/shapes.ts";

const reference = object({
  apiVersion: text,
  kind: text,
  namespace: text,
  name: text,
  uid: text,
  resourceVersion: text,
  fieldPath: text,
});

const source = object({ component: text, host: text });
const series = object({ count: int32, lastObservedTime: time });

const common = {
  eventTime: described("Time of the first occurrence, in microseconds.", nullableTime),
  series: described("Set if the event has recurred.", series),
  action: described("The action that was taken.", text),
  reason: described("The reason in one word, for programs.", text),
  related: described("A second object that the event concerns.", reference),
  type: described("Normal or Warning.", text),
};

/** Fields of `v1` events. Events of both versions are stored in this form. */
export const coreEventProperties = {
  ...common,
  "involvedObject*": described("The object that the event is about.", reference),
  message: described("A description in a sentence.", text),
  source,
  firstTimestamp: nullableTime,
  lastTimestamp: nullableTime,
  count: int32,
  reportingComponent: text,
  reportingInstance: text,
};

/** Fields of `events.k8s.io/v1` events. */
export const eventProperties = {
  ...common,
  regarding: described("The object that the event is about.", reference),
  note: described("A description in a sentence.", text),
  reportingController: described("The controller that reported it, such as example.com/controller.", text),
  reportingInstance: described("The reporting replica.", text),
  deprecatedSource: source,
  deprecatedFirstTimestamp: nullableTime,
  deprecatedLastTimestamp: nullableTime,
  deprecatedCount: int32,
};
