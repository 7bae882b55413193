/** Publishes until it is killed, and says after each turn that it was recorded. */

import { writeSync } from "node:fs";
import { Client } from "@evenhand/client";

const [url, spool, user] = process.argv.slice(2) as [string, string, string];
const session = new Client({ url, spool, batchSeconds: 0.02, batchTurns: 10, log: () => {} }).session(user, "s");
for (let number = 0; ; number++) {
  session.user(`turn ${number}`);
  writeSync(1, `${number}\n`);
  await new Promise((resolve) => setImmediate(resolve));
}
