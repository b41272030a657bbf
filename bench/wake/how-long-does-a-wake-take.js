// How long does a wake take beyond what the program itself needs to start? The program reports when its port began to
// accept; the wake tax is the first byte at the client minus that moment.
import { check, fail, sleep } from "k6";
import http from "k6/http";
import { Trend } from "k6/metrics";

const { API, TOKEN, ACTIVATOR, ACTIVATOR_TOKEN, NAMESPACE, DOMAIN, SCENARIO, COUNT, SUMMARY } = __ENV;
const count = Number(COUNT);
const together = SCENARIO === "together";

const wakeTax = new Trend("wake_tax_ms");

export const options = {
  insecureSkipTLSVerify: true, // the API server has a self-signed certificate, and listens on loopback
  setupTimeout: "120s",
  summaryTrendStats: ["count", "p(50)", "p(90)", "p(99)", "max"],
  thresholds: { checks: ["rate==1"] },
  scenarios: {
    wakes: together
      ? { executor: "per-vu-iterations", vus: count, iterations: 1, maxDuration: "120s", exec: "wakeMyOwn" }
      : { executor: "shared-iterations", vus: 1, iterations: count, maxDuration: "10m", exec: "wakeTheOne" },
  },
};

const url = (name) => `${API}/apis/agents.x-k8s.io/v1beta1/namespaces/${NAMESPACE}/sandboxes/${name}`;
const authorization = { Authorization: `Bearer ${TOKEN}` };

function suspend(name) {
  const headers = { ...authorization, "Content-Type": "application/merge-patch+json" };
  http.patch(url(name), JSON.stringify({ spec: { operatingMode: "Suspended" } }), { headers });
}

function waitUntilAsleep(name) {
  for (let tries = 0; tries < 3000; tries += 1) {
    const { metadata, status } = http.get(url(name), { headers: authorization }).json();
    const suspended = (status?.conditions ?? []).find((condition) => condition.type === "Suspended");
    if (suspended?.status === "True" && suspended.observedGeneration === metadata.generation) return;
    sleep(0.02);
  }
  fail(`${name} does not fall asleep`);
}

function wake(name) {
  const sentMs = Date.now();
  const headers = { Host: `${name}.${NAMESPACE}.${DOMAIN}`, Authorization: `Bearer ${ACTIVATOR_TOKEN}` };
  const response = http.get(`${ACTIVATOR}/info`, { headers, timeout: "60s" });
  const { blocked, connecting, sending, waiting } = response.timings;
  if (!check(response, { "woken and answered": ({ status }) => status === 200 })) return;
  // Date.now() is in whole milliseconds, so it is half a millisecond too early on average.
  wakeTax.add(sentMs + 0.5 + blocked + connecting + sending + waiting - response.json().listeningSinceMs);
}

export function setup() {
  const names = together ? Array.from({ length: count }, (_, at) => `crowd-${at}`) : [];
  names.forEach(suspend);
  names.forEach(waitUntilAsleep);
}

export function wakeTheOne() {
  suspend("hello");
  waitUntilAsleep("hello");
  wake("hello");
}

export function wakeMyOwn() {
  wake(`crowd-${__VU - 1}`);
}

export function handleSummary({ metrics }) {
  return { [SUMMARY]: JSON.stringify({ tax: metrics.wake_tax_ms?.values, checks: metrics.checks?.values }) };
}
