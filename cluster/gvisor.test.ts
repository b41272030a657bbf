import { describe, expect, it } from "vitest";
import { layoutOf } from "./layout.ts";
import { settingsFiles } from "./settings.ts";

const layout = layoutOf("/cluster");
const gvisor = { runsc: "/tools/runsc", shim: "/tools/shim" };

describe("the settings of a cluster with gVisor", () => {
  it("name the file with the settings of our shim, which names runsc", () => {
    const files = settingsFiles(layout, gvisor);
    expect(files["containerd.toml"]).toContain('runtime_type = "io.containerd.rouse.v1"\n');
    expect(files["containerd.toml"]).toContain('ConfigPath = "/cluster/settings/runsc.toml"\n');
    expect(files["runsc.toml"]).toContain('binary_name = "/tools/runsc"\n');
  });

  it("pass no annotation of gVisor itself from a Pod to the runtime", () => {
    const [, passed] = /^ *pod_annotations = (.*)$/m.exec(settingsFiles(layout, gvisor)["containerd.toml"] ?? "") ?? [];
    expect(passed).toBe('["hibernation.rouse.dev/*"]');
  });

  it("are those of a cluster without it, and something added", () => {
    const { "containerd.toml": plain = "none", ...rest } = settingsFiles(layout);
    const { "containerd.toml": more, "runsc.toml": _, ...same } = settingsFiles(layout, gvisor);
    expect(more?.startsWith(plain)).toBe(true);
    expect(same).toEqual(rest);
    expect(plain).not.toContain("gvisor");
  });
});
