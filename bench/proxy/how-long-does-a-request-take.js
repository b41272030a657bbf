// How long does a small request take at a fixed rate? A thousand start every second, whether or not earlier ones have ended.
import { check } from "k6";
import http from "k6/http";

const { URL, HOST, SECONDS, SUMMARY } = __ENV;

export const options = {
  summaryTrendStats: ["count", "p(50)", "p(90)", "p(99)", "max"],
  scenarios: {
    // Warms connections and code before the measurement.
    warm: { executor: "constant-arrival-rate", rate: 1000, duration: "2s", preAllocatedVUs: 50, exec: "ask" },
    steady: {
      ...{ executor: "constant-arrival-rate", rate: 1000, duration: `${SECONDS}s`, preAllocatedVUs: 50 },
      ...{ startTime: "2s", exec: "ask" },
    },
  },
  // k6 keeps separate figures for a scenario only if it has a threshold.
  thresholds: { "http_req_duration{scenario:steady}": ["max>=0"], "checks{scenario:steady}": ["rate>=0"] },
};

export function ask() {
  const response = http.get(URL, { headers: { Host: HOST }, timeout: "5s" });
  check(response, { answered: ({ status }) => status === 200 });
}

export function handleSummary({ metrics }) {
  const took = metrics["http_req_duration{scenario:steady}"].values;
  const failed = metrics["checks{scenario:steady}"].values.fails;
  const dropped = metrics.dropped_iterations?.values.count ?? 0;
  return {
    [SUMMARY]: JSON.stringify({ count: took.count, p50: took["p(50)"], p99: took["p(99)"], missed: failed + dropped }),
  };
}
