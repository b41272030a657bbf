import type { NameRefusal } from "../../activator/tcp-front/connection/refusals.ts";
import type { Advice } from "./advice.ts";

const require = "Connect with TLS, with psql by sslmode=require.";

/** The text of the errors page about connections by name that are rejected. */
export const nameAdvice: Readonly<Record<NameRefusal, Advice>> = {
  NotTls: { why: "The client sent neither a ClientHello nor a PostgreSQL request for TLS.", what: require },
  WithoutTls: {
    why: "A PostgreSQL client did not ask for TLS. The client gets a PostgreSQL error with this reason.",
    what: require,
  },
  EarlyBytes: {
    why: "A PostgreSQL client sent bytes in clear text before the activator had answered its request for TLS.",
    what: "Check who could have added bytes between the client and the activator.",
  },
  CancelWithoutName: {
    why: "A PostgreSQL client asked in clear text to cancel a query. Such a request names no sandbox.",
    what: "Use a client with libpq 17 or newer, or pg_cancel_backend().",
  },
  MalformedHello: {
    why: "The ClientHello cannot be read, or has two server names. The client gets the alert decode_error.",
    what: "Use another TLS client.",
  },
  HelloTooLong: { why: "The ClientHello has more than 16 KiB.", what: "Offer less in the ClientHello." },
  NoName: {
    why: "The ClientHello has no server name. The client gets the alert missing_extension.",
    what: "Connect to a name and not to an address; psql sends the name from version 14 on, unless sslsni is 0.",
  },
  UnknownName: {
    why: "No existing Sandbox or SandboxClaim has the server name as its host name. The client gets the alert unrecognized_name.",
    what: "Check the name: NAME.NAMESPACE.DOMAIN or PORT--NAME--NAMESPACE.DOMAIN.",
  },
  NotAllowedByName: {
    why: "The sandbox does not have autoResume.allowFrom Any. The client gets the same alert as for an unknown name. If autoResume.allowFrom changed while the connection was held, the connection is reset.",
    what: "Set autoResume.allowFrom to Any if everyone who knows the name may connect.",
  },
  PortNotDeclared: {
    why: "The sandbox does not declare the TCP port in the name, or not among its first 32. The client gets the same alert as for an unknown name. If that changed while the connection was held, it is reset.",
    what: "Declare the port in the Pod template of the sandbox (containerPort).",
  },
  NameTimedOut: {
    why: "The client did not name its sandbox within --headers-timeout.",
    what: "Check the network of the client, or raise --headers-timeout.",
  },
  TooManyUnnamed: {
    why: "The replica has 2,000 connections that have not named their sandbox, and this connection is the oldest one of the client address that has the most of them.",
    what: "Find out who opens connections and sends nothing.",
  },
  SandboxWithoutTls: {
    why: "The sandbox answered no (N) to a PostgreSQL request for TLS.",
    what: "Give the server in the sandbox a certificate; for PostgreSQL set ssl to on.",
  },
  SandboxTlsUnanswered: {
    why: "The sandbox did not answer a PostgreSQL request for TLS within --connect-timeout, answered neither yes (S) nor no, or closed the connection.",
    what: "Check that the port of the sandbox belongs to a PostgreSQL server.",
  },
};
