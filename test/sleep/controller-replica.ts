import { ChildProgram } from "../programs/child-program.ts";
import type { ApiGate } from "./api-gate.ts";

export interface ControllerReplicaOptions {
  readonly namespace: string;
  readonly gate: ApiGate;
  readonly kubeconfig: string;
  readonly flags: readonly string[];
  /** Called with its last line when it has exited by itself. */
  readonly onEnd?: (lastWords: string) => void;
}

/** One controller as a process of its own. The test bed restarts it when it has exited, as the kubelet does. */
export class ControllerReplica {
  readonly gate: ApiGate;
  readonly #options: ControllerReplicaOptions;
  #program: ChildProgram;
  #stopped = false;

  constructor(options: ControllerReplicaOptions) {
    this.#options = options;
    this.gate = options.gate;
    this.#program = this.#start();
  }

  get program(): ChildProgram {
    return this.#program;
  }

  /** Its identity in the lease. */
  async identity(): Promise<string> {
    return String((await this.#program.started)["identity"]);
  }

  async metrics(): Promise<string> {
    const { metrics } = await this.#program.started;
    const page = await fetch(`${String(metrics)}/metrics`);
    return page.text();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#program.goOn();
    await this.#program.kill();
  }

  #start(): ChildProgram {
    const { namespace, kubeconfig, flags } = this.#options;
    const program = new ChildProgram("controller/main.ts", [
      `--kubeconfig=${kubeconfig}`,
      "--extensions",
      "--enable-webhook=false",
      "--metrics-bind-address=127.0.0.1:0",
      "--health-probe-bind-address=0",
      `--leader-election-namespace=${namespace}`,
      `--activator-namespace=${namespace}`,
      ...flags,
    ]);
    void program.exited.then(() => {
      if (this.#stopped) return;
      const lastWords = program.lines.at(-1) ?? "";
      // A killed program prints no last line, and its log lines are JSON.
      if (!lastWords.startsWith("{")) this.#options.onEnd?.(lastWords);
      this.#program = this.#start();
    });
    return program;
  }
}
