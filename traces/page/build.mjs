// SPDX-License-Identifier: Apache-2.0
// Makes report.html, the one file that the program embeds: page.html with the style sheet and the
// modules of src/ in it, minified. `node build.mjs --check` compares instead, and ends with 1 if they differ.
import { readFileSync, writeFileSync } from "node:fs";
import { build, transform } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const result = await build({
  entryPoints: [`${here}src/main.ts`],
  bundle: true,
  write: false,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  minify: true,
  legalComments: "none",
});
const script = result.outputFiles[0].text.replaceAll("</script", "<\\/script");
const style = await transform(readFileSync(`${here}src/style.css`, "utf8"), { loader: "css", minify: true });
const page = readFileSync(`${here}src/page.html`, "utf8")
  .replace("/*STYLE*/", () => style.code.trim())
  .replace("/*SCRIPT*/", () => script.trim());
const path = `${here}report.html`;
if (process.argv.includes("--check")) {
  if (readFileSync(path, "utf8") !== page) {
    console.error(`${path} is not what its sources give: run 'npm run build' in traces/page`);
    process.exit(1);
  }
} else {
  writeFileSync(path, page);
}
