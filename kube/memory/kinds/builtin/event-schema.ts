import { described, int32, object, text, time } from "../../../../api/crd/shapes.ts";
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
  eventTime: described("When it was first seen, to the microsecond.", nullableTime),
  series: described("Set when it was seen again and again.", series),
  action: described("What was done about the object.", text),
  reason: described("One word for programs: why.", text),
  related: described("Another object that has to do with it.", reference),
  type: described("Normal or Warning.", text),
};

/** Fields of `v1` events, which are also how both views are stored. */
export const coreEventProperties = {
  ...common,
  "involvedObject*": described("The object that the event is about.", reference),
  message: described("A sentence for people.", text),
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
  note: described("A sentence for people.", text),
  reportingController: described("The controller that tells it, such as example.com/controller.", text),
  reportingInstance: described("Which of its replicas.", text),
  deprecatedSource: source,
  deprecatedFirstTimestamp: nullableTime,
  deprecatedLastTimestamp: nullableTime,
  deprecatedCount: int32,
};
