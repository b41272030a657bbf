import type { FlagValues } from "../../lib/flags/flags.ts";
import type { ReviewSettings } from "../authorize/reviewed-tokens.ts";
import type { Authorization, Environment } from "./config.ts";
import { ConfigError } from "./config-error.ts";
import type { activatorFlags } from "./flags.ts";
import { scopedTokenSettings } from "./scoped-token-config.ts";

type Values = FlagValues<typeof activatorFlags>;

/**
 * Reads how clients are authorized. Access without authorization must be requested, by the flag or the variable.
 *
 * @throws ConfigError for settings that contradict each other, or without any.
 */
export function authorizationOf(values: Values, env: Environment): Authorization {
  const token = env["ROUTER_AUTH_TOKEN"]?.trim();
  const open = /^(1|true|t|yes|y|on)$/i.test(env["ALLOW_UNAUTHENTICATED_ROUTER"]?.trim() ?? "");
  switch (values["authz-mode"]) {
    case "allow-all":
      if (token) return refuse("--authz-mode=allow-all and ROUTER_AUTH_TOKEN contradict each other");
      return { mode: "allow-all" };
    case "scoped-token":
      if (token) return refuse("--authz-mode=scoped-token and ROUTER_AUTH_TOKEN contradict each other");
      return scopedTokenSettings(values);
    case "tokenreview":
      if (token) return refuse("--authz-mode=tokenreview and ROUTER_AUTH_TOKEN contradict each other");
      return { mode: "tokenreview", reviews: reviewSettings(values) };
    default:
      if (token) return { mode: "static-token", token };
      if (open && values["authz-mode"] === "") return { mode: "allow-all" };
      return refuse(
        "ROUTER_AUTH_TOKEN must be set to start; to let everybody in, set ALLOW_UNAUTHENTICATED_ROUTER=true or --authz-mode=allow-all",
      );
  }
}

function reviewSettings(values: Values): ReviewSettings {
  return {
    ttlMs: values["authz-tokenreview-ttl"],
    cacheSize: values["authz-tokenreview-cache-size"],
    tokenRequired: values["authz-tokenreview-require-token"],
    audiences: values["authz-tokenreview-audiences"].split(",").flatMap((each) => each.trim() || []),
    accessReviewed: values["authz-access-review"],
  };
}

function refuse(message: string): never {
  throw new ConfigError(message);
}
