import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import type { ConfigMap, Secret } from "../../api/kinds/core.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { readExample } from "../../local/examples.ts";

/** A server with its own protocol and its own client, which gets only an address. */
export interface Database {
  readonly title: string;
  /** The name of its sandbox. */
  readonly name: string;
  /** The objects to create; the sandbox comes last. */
  readonly objects: readonly (ConfigMap | Secret | Sandbox)[];
  readonly port: number;
  write(address: string, value: string): Promise<void>;
  read(address: string): Promise<string>;
}

/** A database whose own client names it within TLS. */
export interface NamedDatabase extends Database {
  /** Runs a command through the by-name listener on that port of this machine. */
  askByName(host: string, port: number, command: string): Promise<string>;
}

/** Sends a greeting first, as databases and ssh do, and keeps one value in a file of its volume. */
const lineServer = `
  const { createServer } = require("node:net");
  const { readFileSync, writeFileSync } = require("node:fs");
  const { POD_IP, ROUSE_VOLUME_DATA: directory } = process.env;
  const file = directory + "/value";
  createServer({ allowHalfOpen: true }, (socket) => {
    socket.write("line database 1.0\\n");
    let question = "";
    socket.on("data", (chunk) => { question += chunk; }).on("error", () => {}).on("end", () => {
      const [verb, value] = question.trim().split(" ");
      if (verb === "write") writeFileSync(file, value);
      socket.end(verb === "write" ? "ok\\n" : readFileSync(file, "utf8") + "\\n");
    });
  }).listen(7000, POD_IP);
  process.on("SIGTERM", () => process.exit(0));
`;

/** Sends one line, closes its side, and returns the data after the greeting. */
async function say(address: string, line: string): Promise<string> {
  const socket = connect({ host: address, port: 7000, allowHalfOpen: true });
  socket.end(`${line}\n`);
  const [greeting, answer] = (await text(socket)).split("\n");
  if (greeting !== "line database 1.0") throw new Error(`greeted with ${JSON.stringify(greeting)}`);
  return answer ?? "";
}

const lineDatabase: Database = {
  title: "a server with a protocol of lines",
  name: "lines",
  port: 7000,
  objects: [
    {
      metadata: { name: "lines" },
      spec: {
        service: true,
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
          },
        ],
        podTemplate: {
          spec: {
            containers: [
              {
                name: "lines",
                image: "node",
                command: [process.execPath, "-e", lineServer],
                env: [{ name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
                ports: [{ name: "lines", containerPort: 7000 }],
                volumeMounts: [{ name: "data", mountPath: "/data" }],
              },
            ],
          },
        },
      },
    } satisfies Sandbox,
  ],
  async write(address, value) {
    const answer = await say(address, `write ${value}`);
    if (answer !== "ok") throw new Error(`answered ${JSON.stringify(answer)}`);
  },
  read: (address) => say(address, "read"),
};

const password = "correct-horse";

const psql = (address: string, command: string) => runPsql(`host=${address}`, command);

async function runPsql(where: string, command: string): Promise<string> {
  const environment = { ...process.env, PGPASSWORD: password, PGCONNECT_TIMEOUT: "30" };
  const { stdout } = await promisify(execFile)(
    "psql",
    [`${where} user=postgres`, "--no-password", "-qtA", "-v", "ON_ERROR_STOP=1", "-c", command],
    { env: environment, timeout: 40_000 },
  );
  return stdout.trim();
}

const postgres: NamedDatabase = {
  title: "PostgreSQL",
  name: "database",
  port: 5432,
  objects: [
    { kind: "Secret", metadata: { name: "database" }, data: { password: Buffer.from(password).toString("base64") } },
    ...readExample(join(import.meta.dirname, "..", "..", "examples", "database")),
  ],
  async write(address, value) {
    await psql(address, `create table notes (note text); insert into notes values ('${value}')`);
  },
  read: (address) => psql(address, "select note from notes"),
  askByName: (host, port, command) => runPsql(`host=${host} hostaddr=127.0.0.1 port=${port} sslmode=require`, command),
};

const isInstalled = (program: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));

/** PostgreSQL refuses to run as root. As root it needs a user namespace, which some systems do not have. */
const canBeAnotherUser = (): boolean =>
  process.getuid?.() !== 0 || spawnSync("unshare", ["--user", "true"]).status === 0;

const hasPostgres = ["psql", "pg_isready", "initdb", "postgres", "openssl"].every(isInstalled) && canBeAnotherUser();

/** Those of them that this machine can run, whose clients name them within TLS. */
export const namedDatabases: readonly NamedDatabase[] = hasPostgres ? [postgres] : [];

/** The databases that this machine can run; every machine can run one of them. */
export const databases: readonly Database[] = [lineDatabase, ...namedDatabases];
