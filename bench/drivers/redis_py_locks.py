"""redis-py's Lock, measured as locks.cpp measures the others.

redis_py_locks.py rate|handoff REDIS_PORT CONNECTIONS|WAITERS SECONDS|HANDOFFS
"""
import random
import sys
import threading
import time

import redis


def print_figures(took, seconds):
    took.sort()
    median, p99 = (took[int(share * (len(took) - 1))] * 1e6 if took else 0 for share in (0.5, 0.99))
    print(f"{len(took)}\t{seconds:.3f}\t{median:.1f}\t{p99:.1f}")


def rate(port, connections, seconds):
    ready = threading.Barrier(connections + 1)
    ended = threading.Event()
    took = [[] for _ in range(connections)]

    def work(i):
        client = redis.Redis(port=port)

        def step():
            lock = client.lock(f"order:{i}", timeout=30, thread_local=False)
            assert lock.acquire(blocking=False)
            lock.release()

        step()
        ready.wait()
        while not ended.is_set():
            begun = time.monotonic()
            step()
            took[i].append(time.monotonic() - begun)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(connections)]
    for thread in threads:
        thread.start()
    ready.wait()
    begun = time.monotonic()
    time.sleep(seconds)
    ended.set()
    for thread in threads:
        thread.join()
    print_figures([one for part in took for one in part], time.monotonic() - begun)


def handoff(port, waiters, handoffs):
    turn = threading.Condition()
    grants = 0
    released = 0.0
    took = []

    def take_turns():
        nonlocal grants, released
        lock = redis.Redis(port=port).lock("order:1", timeout=30, thread_local=False)
        while grants < handoffs:
            lock.acquire()
            if 0 < grants < handoffs:
                took.append(time.monotonic() - released)
            with turn:
                grants += 1
                mine = grants
                turn.notify_all()
            if mine < handoffs:
                time.sleep(random.uniform(0.005, 0.015))
            released = time.monotonic()
            lock.release()
            with turn:
                turn.wait_for(lambda: grants != mine or mine >= handoffs)

    begun = time.monotonic()
    threads = [threading.Thread(target=take_turns) for _ in range(waiters + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print_figures(took, time.monotonic() - begun)


if __name__ == "__main__":
    port, count = int(sys.argv[2]), int(sys.argv[3])
    if sys.argv[1] == "rate":
        rate(port, count, float(sys.argv[4]))
    else:
        handoff(port, count, int(sys.argv[4]))
