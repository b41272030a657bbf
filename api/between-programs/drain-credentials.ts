// Authentication on the drain listener: mutual TLS between the controller and the activators, with certificates from one
// Secret in the activators' namespace. The controller creates and renews it; activators reload it when it changes.

export const drainSecretName = "rouse-drain-tls";

/** Keys of the Secret's `data`; each holds PEM. */
export const drainSecretKeys = {
  /** The CAs of both sides: the newest first, then the unexpired former ones. */
  authorities: "ca.crt",
  activatorCertificate: "tls.crt",
  activatorKey: "tls.key",
  controllerCertificate: "client.crt",
  controllerKey: "client.key",
} as const;

/** The DNS name in every activator's certificate: activators are called by address. */
export const drainServerName = "activator.rouse.internal";

export const drainPortDefault = 8446;
