import { described, int64, object, oneOf, plainListOf, text, time } from "./shapes.ts";

// The schema of `metav1.Condition`; patterns and lengths are those that Kubernetes documents.
const condition = object({
  "lastTransitionTime*": described("The status of the condition last changed at this time.", time),
  "message*": described("The message tells users in a sentence what the condition means.", {
    ...text,
    maxLength: 32768,
  }),
  observedGeneration: described("The condition was set for this generation of the object.", {
    ...int64,
    minimum: 0,
  }),
  "reason*": described("The reason is one word, for programs.", {
    ...text,
    maxLength: 1024,
    minLength: 1,
    pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
  }),
  "status*": described("The status says whether the condition is true.", oneOf("True", "False", "Unknown")),
  "type*": described("The condition has this type.", {
    ...text,
    maxLength: 316,
    pattern:
      "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
  }),
});

export const conditions = plainListOf(condition);
