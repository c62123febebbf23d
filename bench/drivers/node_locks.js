// npm's redlock and redis-semaphore, measured as locks.cpp measures the others:
//
//   node node_locks.js rate|handoff redlock|redis_semaphore REDIS_PORT CONNECTIONS|WAITERS SECONDS|HANDOFFS
//
// Each connection is a task of its own. The packages are found through NODE_PATH.
'use strict';
const { Redis } = require('ioredis');
const { performance } = require('node:perf_hooks');

const ttl = 30000;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A lock of one resource over a connection of its own: acquire() waits for it by the package's own polling.
const makers = {
  redlock(redis, resource) {
    const Redlock = require('redlock');
    const locks = new Redlock([redis], { retryCount: -1 });
    let held;
    return {
      acquire: async () => { held = await locks.lock(resource, ttl); },
      release: () => held.unlock(),
    };
  },
  redis_semaphore(redis, resource) {
    const { Mutex } = require('redis-semaphore');
    let held;
    return {
      acquire: () => {
        held = new Mutex(redis, resource, { lockTimeout: ttl, acquireTimeout: 600000 });
        return held.acquire();
      },
      release: () => held.release(),
    };
  },
};

function printFigures(took, seconds) {
  took.sort((a, b) => a - b);
  const [median, p99] = [0.5, 0.99].map((share) =>
    took.length ? took[Math.floor(share * (took.length - 1))] * 1000 : 0);
  console.log(`${took.length}\t${seconds.toFixed(3)}\t${median.toFixed(1)}\t${p99.toFixed(1)}`);
}

async function rate(lockOf, connections, seconds) {
  const locks = Array.from({ length: connections }, (_, i) => lockOf(`order:${i}`));
  const step = async (lock) => {
    await lock.acquire();
    await lock.release();
  };
  await Promise.all(locks.map(step));
  const took = [];
  const start = performance.now();
  await Promise.all(locks.map(async (lock) => {
    while (performance.now() - start < seconds * 1000) {
      const begun = performance.now();
      await step(lock);
      took.push(performance.now() - begun);
    }
  }));
  printFigures(took, (performance.now() - start) / 1000);
}

async function handoff(lockOf, waiters, handoffs) {
  let grants = 0;
  let released = 0;
  let wake = [];
  const took = [];
  const takeTurns = async (lock) => {
    while (grants < handoffs) {
      await lock.acquire();
      if (grants > 0 && grants < handoffs) took.push(performance.now() - released);
      const mine = ++grants;
      for (const resume of wake.splice(0)) resume();
      if (mine < handoffs) await sleep(5 + Math.random() * 10);
      const granted = mine < handoffs ? new Promise((resolve) => wake.push(resolve)) : undefined;
      released = performance.now();
      await lock.release();
      await granted;
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: waiters + 1 }, () => takeTurns(lockOf('order:1'))));
  printFigures(took, (performance.now() - start) / 1000);
}

async function main([what, variant, port, count, amount]) {
  const connections = [];
  const lockOf = (resource) => {
    const redis = new Redis({ port: Number(port) });
    connections.push(redis);
    return makers[variant](redis, resource);
  };
  await (what === 'rate' ? rate : handoff)(lockOf, Number(count), Number(amount));
  for (const redis of connections) redis.disconnect();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
