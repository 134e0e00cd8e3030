// SPDX-License-Identifier: Apache-2.0
// node run.mjs PROGRAM MAKE_TRACE OUT_DIR FILE: runs a file of tests of the report page. Ends with 77, which ctest takes for
// "skipped", and says what is missing, when this machine has no Chromium or the packages of traces/page are not installed.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const here = fileURLToPath(new URL(".", import.meta.url));
const packages = join(here, "../../traces/page/node_modules");
const [program, makeTrace, out, file] = process.argv.slice(2);
const needed = file.startsWith("asset") ? ["esbuild"] : ["playwright-core"];
for (const name of needed) {
  if (!existsSync(join(packages, name))) {
    console.log(`skipped: traces/page/node_modules has no ${name}; ./setup.sh --page installs it`);
    process.exit(77);
  }
}
const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
if (!file.startsWith("asset") && chromium === undefined) {
  console.log("skipped: there is no chromium; ./setup.sh --page installs it");
  process.exit(77);
}
mkdirSync(out, { recursive: true });
const run = spawnSync(process.execPath, ["--test", "--test-reporter=spec", join(here, file)], {
  stdio: "inherit",
  env: { ...process.env, SPYRE_PROGRAM: program, SPYRE_MAKE_TRACE: makeTrace, SPYRE_PAGE_OUT: out, SPYRE_CHROMIUM: chromium ?? "" },
});
process.exit(run.status ?? 1);
