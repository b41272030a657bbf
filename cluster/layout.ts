import { join } from "node:path";

/** The paths of all files of one cluster. They are removed when the cluster ends. */
export type Layout = ReturnType<typeof layoutOf>;

export function layoutOf(directory: string) {
  const path = (...names: string[]) => join(directory, ...names);
  return {
    directory,
    /** Marks the directory as a cluster's, so that it may be removed. */
    marker: path("this-is-a-rouse-cluster"),
    pki: (name: string) => path("pki", name),
    kubeconfig: (user: string) => path("kubeconfig", user),
    /** Files that the components read at their start. */
    settings: (name: string) => path("settings", name),
    log: (component: string) => path("logs", `${component}.log`),
    auditLog: path("logs", "audit.log"),
    process: (component: string) => path("processes", component),
    /** The kernel's settings before the cluster changed them. */
    kernelSettings: path("kernel-settings.json"),
    etcd: path("etcd"),
    /** Seen by the components as `/var`: images, containers, volumes of Pods and their logs. */
    var: path("var"),
    /** Seen by the components as the folder below, where the controller manager makes volumes of type hostPath. */
    volumes: path("volumes"),
    images: path("images"),
    /** The shims of runtimes that containerd does not bring. */
    runtimes: path("runtimes"),
    /** The folder to put on the PATH. */
    programs: path("bin"),
    /** Names the chart and the images of the last installation. */
    installed: path("installed"),
  } as const;
}

/** The only directory in which the controller manager's provisioner creates hostPath volumes. */
export const provisionerDirectory = "/tmp/hostpath_pv";
