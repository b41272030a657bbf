/** The Secret with the key by which the controller permits Pods to be restored. */
export const signingSecretName = "rouse-hibernation-signing-key";
/** The ConfigMap from which nodes learn its public half. */
export const publicKeysName = "rouse-hibernation-key";
/** The part of the ConfigMap: a key in base64 on each line. */
export const publicKeysPart = "ed25519.pub";
