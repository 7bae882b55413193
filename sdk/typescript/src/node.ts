/** The entry for Node. */

import { node } from "./disk.js";
import { usePlatform } from "./platform.js";

usePlatform(node);

export * from "./index.js";
