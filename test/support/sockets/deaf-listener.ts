import type { OpenConnection } from "../../../activator/activity/open-connections.ts";
import type { OpenListener } from "../../../activator/proxy-interface.ts";

/** Is told of all that happens on an open connection, and does nothing. */
export const deafListener: OpenListener = {
  clientSends() {},
  moved() {},
  clientSpoke() {},
  sandboxSpoke() {},
  requestEnded() {},
  sandboxEnded() {},
};

/** An `onOpen` for the options of a proxy, and the connections that it was called with. */
export function collectOpen() {
  const connections: OpenConnection[] = [];
  const onOpen = (connection: OpenConnection): OpenListener => {
    connections.push(connection);
    return deafListener;
  };
  return { connections, onOpen };
}
