// The tasks of three people on the page of symfs serve, done in a browser: node page-tasks.mjs FACTS, a JSON file of
// tests/mount/serve-page-tasks.sh. Prints a line for each task: its steps and its seconds. Exits with 1 when a
// task fails.
// SPDX-License-Identifier: LGPL-2.1-or-later
import { readFileSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { Browser } from "./browser.mjs";

const facts = JSON.parse(readFileSync(process.argv[2], "utf8"));
const browser = new Browser(facts.browser, facts.profile);
let steps = 0, failed = 0, who = "";

// ---- steps: what a person does --------------------------------------------------------

async function open(path) { steps++; await browser.open(facts.url + path); }
async function paste(text) { steps++; await browser.type("#path", text); }
async function click(selector) { steps++; await browser.click(selector); }

function must(what, said) { if (!what) throw new Error(said); }

async function shows(text, selector = "main") {
  const got = await browser.read(selector);
  must(got.includes(text), `"${text}" is not in: ${got.slice(0, 2000)}`);
}

async function soon(selector, text) {
  for (const end = Date.now() + 300000; Date.now() < end; await new Promise((done) => setTimeout(done, 100)))
    if ((await browser.read(selector)).includes(text)) return;
  throw new Error(`"${text}" does not come: ${await browser.read(selector)}`);
}

async function task(name, work) {
  const began = performance.now();
  steps = 0;
  try {
    await work();
    console.log(`${who}: ${name}: ${steps} steps, ${((performance.now() - began) / 1000).toFixed(1)} s`);
  } catch (error) {
    failed++;
    console.log(`FAILED: ${who}: ${name}: ${error.message}`);
  }
}

const curl = (...args) => execFileSync("curl", ["-gsS", "--noproxy", "*", "--max-time", "20", ...args]).toString();

// A block of lines of the page, as the person copies it.
const lines = (title) => browser.run(`[...document.querySelectorAll("figure.lines")]
  .find((f) => f.querySelector("figcaption").textContent.startsWith(${JSON.stringify(title)}))
  ?.querySelector("pre").textContent ?? ""`);

// Follows the first link of a result; the file must begin as expected.
async function downloads(begin) {
  const href = await browser.run(`document.querySelector("#found .link a").href`);
  steps++;
  must(curl("-f", href).startsWith(begin), `${href} is another file`);
}

// ---- the engineer ---------------------------------------------------------------------------

async function finds(text, words, begin) {
  await open("/");
  await paste(text);
  await click(".find button");
  for (const word of words) await shows(word, "#found");
  if (begin) await downloads(begin);
}

async function engineer() {
  const { build, guid, missing, url } = facts;
  await task("a build id", () => finds(build, ["stored here", "debug file (ELF)"], "\x7fELF"));
  await task("a debug id with its age", () => finds(`{${guid}}, 1`, ["stored here", "b.pdb"], "MODULE"));
  await task("a debug id in Breakpad's form", () => finds(`${guid.replaceAll("-", "")}1`, ["stored here"], "MODULE"));
  await task("a name and a debug id", () => finds(`b.pdb ${guid.replaceAll("-", "")}1`, ["stored here"], "MODULE"));
  await task("a path", () =>
    finds(`/mnt/symbols/gdb/.build-id/${build.slice(0, 2)}/${build.slice(2)}.debug`, ["stored here"], "\x7fELF"));
  await task("a URL of another server", () =>
    finds(`https://symbols.example.net/download/symbols/b.pdb/${guid.replaceAll("-", "")}1/b.sym?x=1`,
      ["stored here"], "MODULE"));
  await task("a stack", async () => {
    await finds(`Stack trace of thread 12:\n#0  0x00007f1200001158 main (prog + 0x1158)\n` +
      `#1  0x00007f1234567890 work (liba.so + 0x10)\nModule prog with build-id ${build}\n` +
      `Module liba.so with build-id ${missing}\nb.pdb {${guid.toUpperCase()}} age: 1\n`,
      ["3 identifiers", "prog", "liba.so", "b.pdb", "debug file (ELF): stored", "debug file (ELF): missing",
        "symbol file (Breakpad): stored"]);
    await click("#found a.chip.good");
    await downloads("\x7fELF");
  });
  await task("why a file is missing", () => finds(missing, ["missing: no source has it", "remembered until"]));
  await task("what the sources say now", async () => {
    await finds(facts.never, ["not asked"]);
    await click("#found article form button");
    await shows("missing", "#found article");
    await shows("HTTP 404", "#found article");
  });
  await task("a stack without identifiers", () =>
    finds("#0 main () at a.c:1\n#1 0x00007f1234567890 in start ()", ["coredumpctl info"]));
  await task("the lines for tools", async () => {
    await open("/");
    for (const [title, line] of [["gdb", `export DEBUGINFOD_URLS="${url}/"`], ["LLDB", `server-urls ${url}/`],
      ["WinDbg", `.sympath srv*C:\\Symbols*${url}`], ["perf", `export DEBUGINFOD_URLS="${url}/"`],
      ["curl", `curl -fO ${url}/buildid/ID/debuginfo`]]) {
      const text = await lines(title);
      must(text.includes(line), `${title}: ${text}`);
    }
    writeFileSync(facts.lines, `${(await lines("gdb")).split("\n")[0]}\n${(await lines("curl")).split("\n")[0]}\n`);
  });
  await task("the page of a 404", async () => {
    await open(`/buildid/${missing}/debuginfo`);
    await shows("Not found");
    await shows("missing: no source has it");
    await open("/no/such/thing");
    await shows("no meaning in any layout");
  });
}

// ---- the one who uploads --------------------------------------------------------------------

async function uploader() {
  await task("what is missing, most requests first", async () => {
    await open("/uploads");
    const cells = `[...document.querySelectorAll("#missing td.number")].map((cell) => +cell.textContent)`;
    const counts = await browser.run(cells);
    const sorted = counts.every((n, i) => i === 0 || counts[i - 1] >= n);
    must(counts.length >= 2 && sorted && counts[0] >= 4, `counts: ${counts}`);
    await shows("c.pdb", "#missing");
  });
  await task("an upload by the page's own line", async () => {
    await open("/uploads");
    const line = (await lines("curl, one file")).split("\n")[1];
    must(line.startsWith("curl -f -T app.pdb "), line);
    steps++;
    curl("-f", "-T", facts.upload, line.split(" ").at(-1).replace(/app.pdb\/ID\/app.pdb/, facts.uploadPath));
    await soon("#latest", "stored");
    await shows("c.pdb", "#latest");
  });
  await task("the file is not missing any more", async () => {
    await open("/uploads");
    const text = await browser.read("#missing");
    must(!text.includes("c.pdb"), text);
  });
  await task("why an upload was refused", async () => {
    curl("-T", facts.wrong, `${facts.url}/buildid/${facts.build}/executable`);
    await open("/uploads");
    await shows("refused", "#latest");
    await shows("of no format that symfs knows", "#latest");
  });
}

// ---- the administrator ----------------------------------------------------------------------

async function administrator() {
  await task("which source fails, and how fast the others are", async () => {
    await open("/status");
    await shows("failing", "#sources .bad");
    must(/in up to \d+ ms/.test(await browser.read("#sources")), await browser.read("#sources"));
  });
  await task("use of the cache against its quota", async () => {
    await open("/status");
    must(/of 52\.4 MB/.test(await browser.read("#cache")), await browser.read("#cache"));
  });
  await task("errors of the last hour", async () => {
    await open("/status");
    await shows("502", "#errors");
    await shows("422", "#errors");
  });
  await task("a running download, without loading the page again", async () => {
    await open("/status");
    const slow = `curl -gsS --noproxy '*' --max-time 300 -o /dev/null '${facts.url}${facts.slow}'`;
    const child = execFileSync("sh", ["-c", `${slow} >/dev/null 2>&1 & echo $!`]);
    await soon("#activity", "receiving");
    must(/of \d/.test(await browser.read("#activity")), await browser.read("#activity"));
    process.kill(+child.toString());
  });
  await task("the bucket's queue", async () => {
    steps++;
    await browser.open(`${facts.bucket}/status`);
    must(/[1-9]\d* files? wait/.test(await browser.read("#bucket")), await browser.read("#bucket"));
  });
}

// ---- what holds for all ---------------------------------------------------------------------

const parts = () => ["/", `/?path=${facts.build}`, `/?path=${facts.missing}`, "/uploads", "/status",
  `/buildid/${facts.missing}/debuginfo`];

async function everyone() {
  await task("without scripts", async () => {
    await browser.scripts(false);
    await finds(facts.build, ["stored here"], "\x7fELF");
    await open("/status");
    await shows("Errors of the last hour");
    await browser.scripts(true);
  });
  await task("hostile names stay text", async () => {
    const hostile = encodeURIComponent(`"><img src=x onerror=alert(1)><script>alert(2)</script>`);
    await browser.open(`${facts.url}/?path=${hostile}`);
    const bold = `/${encodeURIComponent("<b>x</b>")}/${facts.guid.replaceAll("-", "")}1/x.sym`;
    for (const path of ["/uploads", "/status", bold, "/"]) {
      await browser.open(facts.url + path);
      const found = await browser.run(`document.querySelectorAll("main img, main script, main b, [onerror]").length`);
      must(found === 0, `${path}: ${found} elements of a name`);
    }
  });
  for (const width of [1280, 400]) {
    await task(`nothing is wider than ${width} px`, async () => {
      for (const scheme of ["light", "dark"])
        for (const [i, path] of parts().entries()) {
          await browser.size(width, 900);
          await browser.scheme(scheme);
          await open(path);
          const wide = await browser.run(`document.documentElement.scrollWidth`);
          must(wide <= width, `${path}: ${wide} px`);
          if (facts.pictures) await browser.picture(`${facts.pictures}/part${i}-${width}-${scheme}.png`);
        }
    });
  }
}

async function axe() {
  const source = readFileSync(facts.axe, "utf8");
  await task("axe-core finds no serious violation", async () => {
    let checked = 0, minor = 0;
    for (const width of [1280, 400])
      for (const scheme of ["light", "dark"])
        for (const path of parts()) {
          await browser.size(width, 900);
          await browser.scheme(scheme);
          await open(path);
          await browser.run(`${source}; void 0`);
          const found = await browser.run(`axe.run().then((r) => ({ passes: r.passes.length,
            violations: r.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.html).slice(0, 3)]) }))`);
          const serious = found.violations.filter(([impact]) => impact === "serious" || impact === "critical");
          must(serious.length === 0, `${path} at ${width} px, ${scheme}: ${JSON.stringify(serious)}`);
          must(found.passes > 10, `${path}: only ${found.passes} rules apply`);
          checked++;
          minor += found.violations.length;
        }
    console.log(`axe-core: ${checked} pages, 0 serious or critical violations, ${minor} others`);
  });
}

await browser.start();
await browser.size(1280, 900);
for (const [name, work] of Object.entries({ engineer, uploader, administrator, everyone })) {
  who = name;
  await work();
}
if (facts.axe) await axe();
await browser.close();
process.exit(failed ? 1 : 0);
