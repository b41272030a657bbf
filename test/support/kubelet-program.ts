// The process runtime as a program of its own, for tests that kill it. Arguments: URL of the API server, data directory.
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { startKubelet } from "../../local/kubelet/start-kubelet.ts";

const [server = "", dataDir = ""] = process.argv.slice(2);
const client = createKubeClient(connectionFor({ server }), { userAgent: "rouse-test" });
await startKubelet({ client, clock: systemClock, log: silentLogger, dataDir, environment: {} }).failed;
