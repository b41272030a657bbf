/** How many pages of memory the program changes, one in each step. */
export const pageCount = 64;
export const pageBytes = 65_536;
/** How many records the file has that has no name any more. */
export const recordCount = 16;
export const recordBytes = 64;

/** Counts on its own, in a thread and in a process: it answers each number with the next link of its chain. */
const counter = `
const { createHash } = require("node:crypto");
let chain;
const next = (text) => {
  chain = createHash("sha256").update(chain === undefined ? text : chain + " " + text).digest("hex");
  return chain;
};`;

const thread = `${counter}
const { parentPort } = require("node:worker_threads");
parentPort.on("message", (text) => parentPort.postMessage(next(text)));`;

const child = `${counter}
require("node:readline").createInterface({ input: process.stdin }).on("line", (text) => console.log(next(text)));`;

/**
 * The program of a sandbox that must not forget. `/step?to=N&life=LIFE` takes the step N of that life if it is the next one. It answers what memory and files say, and
 * the same question again gets the same answer. Each step changes a page of memory, a file that is open, one that has no name any more and one that
 * gets replaced, moves a thread and another process on by one, and starts a timer for which the next step waits.
 */
export const program = `
const { createHash, randomUUID } = require("node:crypto");
const fs = require("node:fs");
const { createServer } = require("node:http");
const { spawn } = require("node:child_process");
const { createInterface } = require("node:readline");
const { Worker } = require("node:worker_threads");

const hash = (data) => createHash("sha256").update(data).digest("hex");
const folder = process.env.STATE_FOLDER ?? "/state";
fs.mkdirSync(folder, { recursive: true });

const life = randomUUID();
let chain = hash(life);
let step = 0;
let fired = 0;
let ticks = 0;
let due = Promise.resolve();
setInterval(() => { ticks += 1; }, 50);

const memory = Buffer.alloc(${pageCount * pageBytes});
const writePage = (page, text) => memory.fill(text, page * ${pageBytes}, (page + 1) * ${pageBytes});
for (let page = 0; page < ${pageCount}; page += 1) writePage(page, hash(life + " " + page));

const logPath = folder + "/log";
const log = fs.openSync(logPath, "w+");
const namelessPath = "/tmp/nameless-" + life;
const nameless = fs.openSync(namelessPath, "w+");
fs.unlinkSync(namelessPath);
const replaced = folder + "/replaced";
const replace = (text) => {
  fs.writeFileSync(replaced + ".new", text);
  fs.renameSync(replaced + ".new", replaced);
};
replace(chain);

const thread = new Worker(${JSON.stringify(thread)}, { eval: true });
const child = spawn(process.execPath, ["--eval", ${JSON.stringify(child)}], { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
const tellThread = (text) => new Promise((resolve, reject) => {
  thread.once("message", resolve);
  thread.once("error", reject);
  thread.postMessage(text);
});
const tellChild = async (text) => {
  child.stdin.write(text + "\\n");
  return (await lines.next()).value;
};
let told = Promise.all([tellThread(life), tellChild(life)]);

const contents = (file) => {
  const bytes = Buffer.alloc(fs.fstatSync(file).size);
  fs.readSync(file, bytes, 0, bytes.length, 0);
  return bytes;
};

async function takeStep() {
  await Promise.all([due, told]);
  step += 1;
  chain = hash(chain + " " + step);
  writePage(step % ${pageCount}, chain);
  fs.writeSync(log, step + " " + chain + "\\n");
  fs.writeSync(nameless, chain, (step % ${recordCount}) * ${recordBytes});
  replace(chain);
  told = Promise.all([tellThread(String(step)), tellChild(String(step))]);
  due = new Promise((resolve) => setTimeout(() => { fired += 1; resolve(); }, 50 + ((step * 397) % 2000)));
}

async function state() {
  const [ofThread, ofChild] = await told;
  return {
    life, step, fired, ticks, chain,
    memory: hash(memory),
    log: hash(fs.readFileSync(logPath)),
    openLog: hash(contents(log)),
    nameless: hash(contents(nameless)),
    replaced: fs.readFileSync(replaced, "utf8"),
    thread: ofThread, child: ofChild,
  };
}

let turn = Promise.resolve();
createServer((request, response) => {
  const asked = new URL(request.url, "http://any").searchParams;
  turn = turn.then(async () => {
    if (asked.get("life") === life && Number(asked.get("to")) === step + 1) await takeStep();
    response.end(JSON.stringify(await state()));
  }).catch((error) => response.writeHead(500).end(String(error.stack)));
}).listen(Number(process.env.PORT ?? 8888), "0.0.0.0", function () { console.log("listening on " + this.address().port); });
process.on("SIGTERM", () => process.exit(0));
`;
