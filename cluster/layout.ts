import { join } from "node:path";

/** Where everything of one cluster is kept. All of it goes when the cluster ends. */
export type Layout = ReturnType<typeof layoutOf>;

export function layoutOf(directory: string) {
  const path = (...names: string[]) => join(directory, ...names);
  return {
    directory,
    /** Says that the directory is a cluster's, and so may be removed. */
    marker: path("this-is-a-rouse-cluster"),
    pki: (name: string) => path("pki", name),
    kubeconfig: (user: string) => path("kubeconfig", user),
    /** Files that the components read at their start. */
    settings: (name: string) => path("settings", name),
    log: (component: string) => path("logs", `${component}.log`),
    auditLog: path("logs", "audit.log"),
    process: (component: string) => path("processes", component),
    /** What the kernel's settings were before the cluster changed them. */
    kernelSettings: path("kernel-settings.json"),
    etcd: path("etcd"),
    /** Seen by the components as `/var`: images, containers, volumes of Pods and their logs. */
    var: path("var"),
    /** Seen by the components as the folder below, where the controller manager makes volumes of type hostPath. */
    volumes: path("volumes"),
    images: path("images"),
    /** What a person puts on the PATH. */
    programs: path("bin"),
    /** Says which chart, with which images, was installed last. */
    installed: path("installed"),
  } as const;
}

/** The only place in which the controller manager's provisioner of hostPath volumes makes any. */
export const provisionerDirectory = "/tmp/hostpath_pv";
