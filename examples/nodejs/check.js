'use strict';
// Shows the recipe at work: two holders of one lock, the first of which stalls.

const { Pool } = require('pg');
const { createClient } = require('redis');
const { LockNotAcquired, acquire, release, fencedTransaction } = require('./fencing');

const RESOURCE = 'order:1001';
let failed = 0;

function check(what, good) {
  console.log(`${good ? 'ok' : 'not ok'} - ${what}`);
  if (!good) failed += 1;
}

async function refused(what, sqlstate, work) {
  let error = {};
  try {
    await work();
  } catch (raised) {
    error = raised;
    console.log(`# ${error.message}`);
  }
  check(`${what}: ${sqlstate}`, error.code === sqlstate);
}

async function story(redis, pool) {
  const write = (client, status) =>
    client.query('UPDATE orders SET status = $1 WHERE id = 1001', [status]);
  const hasStatus = async (status) =>
    (await pool.query('SELECT status FROM orders WHERE id = 1001')).rows[0].status === status;

  const first = await acquire(redis, pool, RESOURCE);
  try {
    await acquire(redis, pool, RESOURCE);
    check('a lock that is held is not given to another', false);
  } catch (error) {
    check('a lock that is held is not given to another', error instanceof LockNotAcquired);
  }

  // The first holder sleeps until after its lease has run out (which is made to happen at once).
  await redis.pExpire(first.key, 1);
  const second = await acquire(redis, pool, RESOURCE, { wait: 60000 });
  check('a later holder has a higher token', BigInt(second.token) > BigInt(first.token));

  await fencedTransaction(pool, second, (client) => write(client, 'confirmed'));
  check('the good write is accepted', await hasStatus('confirmed'));
  await refused('the stale write is refused', 'LF001', () =>
    fencedTransaction(pool, first, (client) => write(client, 'cancelled')));
  await refused('the forgotten token is refused', 'LF002', () => write(pool, 'cancelled'));
  try {
    await fencedTransaction(pool, second, async (client) => {
      await write(client, 'packed');
      await client.query("UPDATE orders SET status = 'packed' WHERE id = 1002").catch(() => {});
    });
    check('a refusal that was swallowed is not lost', false);
  } catch (error) {
    check('a refusal that was swallowed is not lost', /before the commit/.test(error.message));
  }
  check("the successor's write stands", await hasStatus('confirmed'));

  check('a lost lock is not released', !(await release(redis, first)));
  check('a lock that is held is released', await release(redis, second));
}

async function main() {
  const redis = createClient({ url: process.env.REDIS_URL });
  redis.on('error', (error) => console.log(`# ${error.message}`));
  await redis.connect();
  const pool = new Pool(); // the variables PGHOST ... say where
  try {
    await story(redis, pool);
  } finally {
    await pool.end();
    await redis.quit();
  }
  process.exitCode = failed ? 1 : 0;
}

main().catch((error) => {
  console.log(`not ok - ${error.stack}`);
  process.exitCode = 1;
});
