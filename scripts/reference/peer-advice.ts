import type { PeerRefusal } from "../../activator/tcp-front/connection/refusals.ts";
import type { Advice } from "./advice.ts";

/** The text of the errors page about TCP connections that are rejected before the activator finds their sandbox. */
export const peerAdvice: Readonly<Record<PeerRefusal, Advice>> = {
  Loopback: {
    why: "The client has a loopback address, and --allow-loopback-pod-ip is not set.",
    what: "Connect from a Pod.",
  },
  NoPod: {
    why: "No Pod has the address of the client, or only Pods that have ended or use the network of their node.",
    what: "Connect from a Pod with an address of its own.",
  },
  OtherNamespace: {
    why: "The Pod of the client is in another namespace, and autoResume.allowFrom is Namespace.",
    what: "Connect from the namespace of the sandbox, or set autoResume.allowFrom to Cluster.",
  },
  NoSandbox: {
    why: "The sandbox of this activator port does not exist, or was created again under its name.",
    what: "Retry: the activator closes ports of deleted sandboxes soon.",
  },
  TooManyConnections: {
    why: "The replica has --max-connections connections to activator ports or, for a connection by name, --max-connections connections by name.",
    what: "Retry, or raise --max-connections.",
  },
  NoDescriptors: {
    why: "The replica is about to run out of file descriptors.",
    what: "Retry, or raise the limit of open files of the process.",
  },
};
