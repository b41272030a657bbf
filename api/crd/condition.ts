import { described, int64, object, oneOf, plainListOf, text, time } from "./shapes.ts";

// The schema of `metav1.Condition`; patterns and lengths are those that Kubernetes documents.
const condition = object({
  "lastTransitionTime*": described("Time of the last change of the status.", time),
  "message*": described("A description for users, in a sentence.", { ...text, maxLength: 32768 }),
  observedGeneration: described("The generation of the object that the condition was set for.", {
    ...int64,
    minimum: 0,
  }),
  "reason*": described("The reason in one word, for programs.", {
    ...text,
    maxLength: 1024,
    minLength: 1,
    pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
  }),
  "status*": described("Whether the condition is true.", oneOf("True", "False", "Unknown")),
  "type*": described("The type of the condition.", {
    ...text,
    maxLength: 316,
    pattern:
      "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
  }),
});

export const conditions = plainListOf(condition);
