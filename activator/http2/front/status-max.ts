/** HTTP/1.1 has higher ones, which Node's HTTP/2 refuses to send. */
export const statusMax = 599;
