import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../../lib/files/write-whole.ts";
import { succeeds } from "../command.ts";

const pathOf = (setting: string) => join("/proc/sys", setting);

/** There is none until the kernel module `br_netfilter` is loaded. */
export const bridgeFilterSetting = pathOf("net/bridge/bridge-nf-call-iptables");

/** Loads the kernel module whose setting the cluster changes. Whether that worked is told by the requirements of a machine. */
export async function loadBridgeFilter(
  setting: string = bridgeFilterSetting,
  load: typeof succeeds = succeeds,
): Promise<void> {
  if (!existsSync(setting)) await load("modprobe", ["br_netfilter"]);
}

/** Settings that Pods need to reach each other and their Services. */
const wanted: Readonly<Record<string, string>> = {
  "net/ipv4/ip_forward": "1",
  "net/bridge/bridge-nf-call-iptables": "1",
};

/** Settings that the kubelet changes itself. */
const changedByKubelet = [
  "vm/overcommit_memory",
  "vm/panic_on_oom",
  "kernel/panic",
  "kernel/panic_on_oops",
  "kernel/keys/root_maxkeys",
  "kernel/keys/root_maxbytes",
];

/** Saves the current settings to a file, once, and applies those that the cluster needs. */
export function changeKernelSettings(file: string): void {
  if (!existsSync(file)) {
    const settings = [...Object.keys(wanted), ...changedByKubelet].filter((setting) => existsSync(pathOf(setting)));
    const before = settings.map((setting) => [setting, readFileSync(pathOf(setting), "utf8").trim()]);
    writeWhole(file, JSON.stringify(Object.fromEntries(before), null, 2), 0o644);
  }
  for (const [setting, value] of Object.entries(wanted)) writeFileSync(pathOf(setting), value);
}

/** Restores the settings from the file. A setting is gone when its kernel module is, for example after a reboot. */
export function restoreKernelSettings(file: string): void {
  if (!existsSync(file)) return;
  const before: Record<string, string> = JSON.parse(readFileSync(file, "utf8"));
  for (const [setting, value] of Object.entries(before)) {
    if (!existsSync(pathOf(setting))) continue;
    if (readFileSync(pathOf(setting), "utf8").trim() !== value) writeFileSync(pathOf(setting), value);
  }
}
