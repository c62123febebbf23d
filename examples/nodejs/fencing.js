'use strict';
// A lock in Redis with a fencing token, and the transaction that presents it.

const { randomUUID } = require('node:crypto');

// Only the owner may extend or end its lock, so both compare the key's value on the server.
const EXTEND =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0";
const RELEASE =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

class LockNotAcquired extends Error {}

/**
 * Takes the lock of a resource, or throws LockNotAcquired where others held it for `wait` ms.
 * `ttl` is in ms; nothing renews the lock meanwhile. The token is a string: a bigint of
 * PostgreSQL's need not fit a number.
 */
async function acquire(redis, pool, resource, { ttl = 30000, wait = 0 } = {}) {
  const lock = { key: `lock:${resource}`, owner: randomUUID(), resource, token: null };
  const deadline = performance.now() + wait;
  while ((await redis.set(lock.key, lock.owner, { NX: true, PX: ttl })) === null) {
    if (performance.now() >= deadline) throw new LockNotAcquired(`${resource} is locked`);
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 50));
  }
  try {
    // One statement of the pool's commits by itself: a token may be used once it is committed.
    const issued = await pool.query('SELECT fence_issue($1)::text AS token', [resource]);
    lock.token = issued.rows[0].token;
    // Still ours? Else a holder that stalled before it asked for its token would get a higher one
    // than its successor has.
    if (!(await run(redis, EXTEND, lock, String(ttl)))) {
      throw new LockNotAcquired(`${resource} was lost before its token came`);
    }
    return lock;
  } catch (error) {
    await release(redis, lock).catch(() => {}); // else it ends with its TTL
    throw error;
  }
}

/** Ends the lock; false where it was not ours any more. */
async function release(redis, lock) {
  return Boolean(await run(redis, RELEASE, lock));
}

/** Runs work(client) in a transaction that has presented the lock's token first; then commits. */
async function fencedTransaction(pool, lock, work) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT fence_check($1, $2)', [lock.resource, lock.token]);
    const result = await work(client);
    // Where an error of a statement was swallowed, the server answers by rolling back.
    const { command } = await client.query('COMMIT');
    if (command !== 'COMMIT') throw new Error('a statement failed before the commit');
    client.release();
    return result;
  } catch (error) {
    // Where even this fails, the connection is of no use to anybody else.
    await client.query('ROLLBACK').then(() => client.release(), (broken) => client.release(broken));
    throw error;
  }
}

function run(redis, script, lock, ...rest) {
  return redis.eval(script, { keys: [lock.key], arguments: [lock.owner, ...rest] });
}

module.exports = { LockNotAcquired, acquire, release, fencedTransaction };
