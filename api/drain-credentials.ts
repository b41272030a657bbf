// How the controller and the activators know each other on the drain port: mutual TLS, with certificates from one Secret in
// the activators' namespace. The controller makes and renews it; activators read it anew whenever it has changed.

export const drainSecretName = "rouse-drain-tls";

/** Keys of the Secret's `data`; each holds PEM. */
export const drainSecretKeys = {
  /** Who vouches for both sides: the newest authority, then those that are not over. */
  authorities: "ca.crt",
  activatorCertificate: "tls.crt",
  activatorKey: "tls.key",
  controllerCertificate: "client.crt",
  controllerKey: "client.key",
} as const;

/** The one name that every activator's certificate is for: they are called by address. */
export const drainServerName = "activator.rouse.internal";

export const drainPortDefault = 8446;
