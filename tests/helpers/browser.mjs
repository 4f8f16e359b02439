// Drives a headless Chromium through its pipe for developers: opens pages, types, clicks, reads, and takes pictures.
// For tests of the web page of symfs serve. Needs node, and no packages.
// SPDX-License-Identifier: LGPL-2.1-or-later
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server",
  "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe"];
const WAIT_MS = 300000;

export class Browser {
  constructor(program, profile) {
    this.child = spawn(program, [...FLAGS, `--user-data-dir=${profile}`, "about:blank"],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.calls = new Map();
    this.waits = [];
    this.next = 1;
    this.text = Buffer.alloc(0);
    this.child.stdio[4].on("data", (bytes) => this.take(bytes));
    this.child.on("exit", () => this.fail(new Error("the browser ended")));
    this.child.on("error", (error) => this.fail(error));
  }

  fail(error) {
    for (const { reject } of this.calls.values()) reject(error);
    this.calls.clear();
  }

  // Messages end with a NUL.
  take(bytes) {
    this.text = Buffer.concat([this.text, bytes]);
    for (let end; (end = this.text.indexOf(0)) >= 0; this.text = this.text.subarray(end + 1)) {
      const message = JSON.parse(this.text.subarray(0, end).toString());
      const call = this.calls.get(message.id);
      this.calls.delete(message.id);
      if (call && message.error) call.reject(new Error(message.error.message));
      else if (call) call.resolve(message.result);
      else this.waits = this.waits.filter((wait) => !wait(message));
    }
  }

  send(method, params = {}, sessionId = this.session) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject });
      this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  event(method) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no ${method} in ${WAIT_MS} ms`)), WAIT_MS);
      this.waits.push((message) => {
        if (message.method !== method || message.sessionId !== this.session) return false;
        clearTimeout(timer);
        resolve(message.params);
        return true;
      });
    });
  }

  async start() {
    const { targetInfos } = await this.send("Target.getTargets");
    const { targetId } = targetInfos.find((target) => target.type === "page");
    this.session = (await this.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    await this.send("Page.enable");
    await this.send("Runtime.enable");
  }

  async close() {
    await this.send("Browser.close", {}, undefined).catch(() => {});
  }

  size(width, height) {
    return this.send("Emulation.setDeviceMetricsOverride",
      { width, height, deviceScaleFactor: 1, mobile: width < 600 });
  }

  // "light" or "dark"
  scheme(value) {
    return this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
  }

  scripts(on) {
    return this.send("Emulation.setScriptExecutionDisabled", { value: !on });
  }

  headers(headers) {
    return this.send("Network.enable").then(() => this.send("Network.setExtraHTTPHeaders", { headers }));
  }

  async open(url) {
    const loaded = this.event("Page.loadEventFired");
    await this.send("Page.navigate", { url });
    await loaded;
  }

  // The value of an expression in the page.
  async run(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate",
      { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  // The text of the page, or of an element.
  read(selector = "body") {
    return this.run(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ""`);
  }

  async type(selector, text) {
    await this.run(`{ const e = document.querySelector(${JSON.stringify(selector)}); e.focus(); e.select?.(); }`);
    await this.send("Input.insertText", { text });
  }

  // Clicks where the element is, as a person does, and waits for the next page.
  async click(selector) {
    const box = await this.run(`{ const e = document.querySelector(${JSON.stringify(selector)});
      e.scrollIntoView({ block: "center" }); const r = e.getBoundingClientRect();
      ({ x: r.x + r.width / 2, y: r.y + r.height / 2 }); }`);
    const loaded = this.event("Page.loadEventFired");
    for (const type of ["mousePressed", "mouseReleased"])
      await this.send("Input.dispatchMouseEvent", { type, ...box, button: "left", clickCount: 1 });
    await loaded;
  }

  async picture(file) {
    const { cssContentSize: { width, height } } = await this.send("Page.getLayoutMetrics");
    const { data } = await this.send("Page.captureScreenshot",
      { captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 } });
    writeFileSync(file, Buffer.from(data, "base64"));
  }
}
