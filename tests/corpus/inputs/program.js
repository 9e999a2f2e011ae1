// SPDX-License-Identifier: Apache-2.0
// Run by the corpus under node: code that its JIT compiles and deoptimises, workers, streams, timers, WebAssembly.
const {Worker, isMainThread, parentPort, workerData} = require('worker_threads');
const crypto = require('crypto');
const zlib = require('zlib');
const net = require('net');

function fibonacci(n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

function add(a, b) {
  return a + b;
}

async function main() {
  console.log(fibonacci(24));
  let sum = 0;
  for (let i = 0; i < 200000; i++) sum = add(sum, i % 7);
  console.log(sum, add('a', 1), add(0.5, 0.25), add(2n ** 70n, 1n));
  const map = new Map();
  for (let i = 0; i < 20000; i++) map.set('k' + (i % 1009), i);
  console.log([...map.values()].reduce((a, b) => a + b), 'aXbXc'.replace(/X(.)/g, '<$1>'));
  console.log(crypto.createHash('sha256').update('x'.repeat(100000)).digest('hex'));
  console.log(zlib.gunzipSync(zlib.gzipSync(Buffer.from('hello '.repeat(1000)))).length);
  const shared = new Int32Array(new SharedArrayBuffer(4));
  const workers = [1, 2, 3].map(k => new Worker(__filename, {workerData: {shared, k}}));
  await Promise.all(workers.map(w => new Promise(done => w.on('exit', done))));
  console.log(shared[0]);
  // (module (func (export "f") (param i32 i32) (result i32) local.get 0 local.get 1 i32.mul))
  const wasm = new WebAssembly.Module(new Uint8Array([
    0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 9, 1, 7, 0, 32,
    0, 32, 1, 108, 11]));
  console.log(new WebAssembly.Instance(wasm).exports.f(6, 7));
  const server = net.createServer(c => c.pipe(c));
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  const client = net.connect(server.address().port, '127.0.0.1');
  client.end('echo');
  for await (const data of client) console.log(data.toString());
  server.close();
  await new Promise(done => setTimeout(done, 5));
  try {
    null.x;
  } catch (e) {
    console.log(e instanceof TypeError);
  }
}

if (isMainThread) {
  main();
} else {
  for (let i = 0; i < 1000; i++) Atomics.add(workerData.shared, 0, workerData.k);
}
