// SPDX-License-Identifier: Apache-2.0
// Builds dist/report.html: one file that holds script, style and the licences of what is bundled, and that asks the network for
// nothing. `elision compare --html` and `elision report --html` put a report into it.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { defineConfig, type Plugin, type Rollup } from "vite";

/** The folder of the package that the module is from, or null for our own. */
function packageFolder(module: string): string | null {
  if (!module.includes("/node_modules/")) return null;
  let folder = dirname(module.replace(/\?.*$/, ""));
  while (!existsSync(join(folder, "package.json")) || basename(dirname(folder)) === "dist")
    folder = dirname(folder);
  return folder;
}

interface Package {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
}

const packageIn = (folder: string): Package =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Package;

/** A published file may hold code of what its package depends on: d3-array has internmap inside. */
function withDependencies(folder: string): string[] {
  const root = folder.slice(0, folder.lastIndexOf("node_modules") + "node_modules".length);
  return [folder, ...Object.keys(packageIn(folder).dependencies ?? {}).map((name) => join(root, name))];
}

function licenceOf(folder: string): string {
  const { name, version } = packageIn(folder);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} has no licence file`);
  return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
}

function licences(modules: string[]): string {
  const folders = modules.map(packageFolder).filter((folder) => folder !== null);
  const text = [...new Set(folders.flatMap(withDependencies))].sort().map(licenceOf).join("\n---\n\n");
  if (text.includes("--" + ">")) throw new Error("a licence would end the comment that holds it");
  return text;
}

/** Puts the script and the style into the page. The page's policy then allows this one script, by its checksum. */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const files = Object.values(bundle);
      const page = files.find((file) => file.fileName.endsWith(".html")) as Rollup.OutputAsset;
      const style = files.find((file) => file.fileName.endsWith(".css")) as Rollup.OutputAsset;
      const script = files.find((file) => file.type === "chunk") as Rollup.OutputChunk;
      if (files.length !== 3)
        throw new Error(`expected a page, a style and a script: ${Object.keys(bundle).join(", ")}`);
      const code = script.code.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      const checksum = createHash("sha256").update(code).digest("base64");
      page.source = String(page.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace("SCRIPT_CHECKSUM", () => `sha256-${checksum}`)
        .replace("LICENCES", () => licences(Object.keys(script.modules)))
        .replace("</head>", () => `<style>${String(style.source).trim()}</style>\n  </head>`)
        .replace("</body>", () => `<script type="module">${code}</script>\n  </body>`);
      page.fileName = "report.html";
      Reflect.deleteProperty(bundle, style.fileName);
      Reflect.deleteProperty(bundle, script.fileName);
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  build: {
    target: "es2022",
    modulePreload: false,
    reportCompressedSize: false,
  },
});
