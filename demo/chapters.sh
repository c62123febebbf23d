# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# The four chapters of the story. Sourced.

ttl=2000         # of leases that are going to be outlived
patience=60000   # how long a worker waits for the lock

sql() { "$("$PG_CONFIG" --bindir)/psql" -XqAt -v ON_ERROR_STOP=1 -d "${database:-shop}" -c "$1"; }

# The same, where an error is expected: sets $answer to the server's message with its SQLSTATE.
sql_attempt() {
    answer=$("$("$PG_CONFIG" --bindir)/psql" -XqAt -v VERBOSITY=verbose -d shop -c "$1" 2>&1) || true
    answer=$(sed -n '/^\(ERROR\|DETAIL\|HINT\)/p' <<<"$answer")
}

row() { sql "SELECT concat_ws(' ', status, changed_by, fence_token) FROM orders WHERE id = $order"; }

# Every write to orders that was committed, in their order.
make_shop() {
    database=postgres sql 'CREATE DATABASE shop'
    sql 'CREATE EXTENSION fencelock;
        CREATE TABLE orders (id bigint PRIMARY KEY, status text NOT NULL, changed_by text,
            fence_token bigint);
        CREATE TABLE order_history (n bigint GENERATED ALWAYS AS IDENTITY, status text,
            changed_by text, fence_token bigint);
        CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO order_history (status, changed_by, fence_token)
                VALUES (NEW.status, NEW.changed_by, NEW.fence_token);
            RETURN NULL; END $$;
        CREATE TRIGGER remember AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION remember();'
    sql "INSERT INTO orders VALUES ($order, 'new')"
}

# A holds the lock, is stopped past its TTL; B takes over, writes, commits; A goes on and writes.
# Sets $token_a and $token_b; A's answer to its late write is in $answer.
a_sleeps_through_its_lease() {
    acquire A "$ttl" "$patience"
    token_a=$token
    tell_expecting A 'left *' left
    say A "has the lock of order $order with token $token_a, good for ${answer#left } ms more: confirms the order ..."
    stop_holder A
    say A "... is stopped here (SIGSTOP), as by a long GC pause or a frozen VM"
    acquire B "$ttl" "$patience"
    token_b=$token
    say B "waited for A's lease to end, has the lock now, with token $token_b"
    tell_expecting B written 'write cancelled'
    say B "the customer cancels: order $order is 'cancelled', committed"
    tell_expecting B released release
    after_b=$(row)
    continue_holder A
    say A "goes on (SIGCONT), knows nothing of all this, and writes 'confirmed'"
    tell A 'write confirmed'
}

without_the_guard() {
    chapter "1. Without the guard: the lock alone"
    a_sleeps_through_its_lease
    say PostgreSQL "$answer: the row is now: $(row)"
    prove "B's committed write was in the table before A woke up" \
        "$after_b" "cancelled B $token_b"
    prove "without the guard A's stale write destroys it: the cancelled order is confirmed" \
        "$(row)" "confirmed A $token_a"
    tell A release
    unguarded_writes=$(sql 'SELECT max(n) FROM order_history')
    lesson "Without the guard, a stopped holder wrote over its successor's committed write."
}

with_the_guard() {
    chapter "2. With the guard: the same programs, the same statements"
    sql "SELECT fence_attach('orders', 'order:{id}')" >/dev/null
    say PostgreSQL "SELECT fence_attach('orders', 'order:{id}');"
    a_sleeps_through_its_lease
    say_error PostgreSQL "$answer"
    prove_rises "B's token is higher than A's: $token_a, then $token_b" "$token_a" "$token_b"
    prove "A's stale write was refused for being stale" \
        "$([[ $answer == "refused "*"fencing token $token_a is stale"* ]] && echo yes || echo "$answer")" yes
    prove "the order is as B left it" "$(row)" "cancelled B $token_b"
    tell A release
    say psql "UPDATE orders SET status = 'oops' WHERE id = $order;   -- forgets the token"
    sql_attempt "UPDATE orders SET status = 'oops' WHERE id = $order"
    say_error PostgreSQL "${answer//$'\n'/|}"
    prove "a statement that presents no token is refused (LF002)" \
        "$([[ $answer == *LF002* ]] && echo yes || echo "$answer")" yes
    prove "and changes nothing" "$(row)" "cancelled B $token_b"
    lesson "With it, the same program with the same statement was refused, and so was one that forgot its token."
}

# One whole turn of a worker: lock, write, release. Sets $token.
work() { # NAME STATUS
    acquire "$1" 30000 "$patience"
    tell_expecting "$1" written "write $2"
    tell_expecting "$1" released release
}

redis_loses_its_memory() {
    chapter "3. Redis is killed and comes back empty, in the middle of everything"
    local before naive_before naive_after
    work A packed
    naive_before=$(redis INCR naive-counter)
    naive_before=$(redis INCR naive-counter)
    before=$token
    say A "writes 'packed' with token $before (a plain INCR counter beside it: $naive_before)"
    acquire A 30000 "$patience"
    say A "takes the lock again, token $token"
    [[ $token -gt $before ]] || die "the token did not rise before the crash"
    before=$token
    end_process "$redis_pid" # SIGKILL
    say Redis "killed (SIGKILL) while A holds its lock"
    start_redis redis
    prove "Redis came back with nothing" "$(redis DBSIZE)" 0
    say Redis "is back, empty: it knows neither the lock nor any counter"
    work B sent
    naive_after=$(redis INCR naive-counter)
    say B "gets the lock, token $token, writes 'sent' (the plain INCR counter: $naive_after)"
    prove_rises "the token rose across the loss: $before, then $token" "$before" "$token"
    prove "a plain INCR counter fell: $naive_before, then $naive_after" \
        "$((naive_after < naive_before))" 1
    tell A 'write packed-again'
    say_error PostgreSQL "${answer%%|*}"
    prove "A, whose lock Redis forgot, is refused" \
        "$([[ $answer == "refused "*"fencing token $before is stale"* ]] && echo yes || echo "$answer")" yes
    prove "the order is as B left it" "$(row)" "sent B $token"
    tell A release
    lesson "Redis lost everything; tokens went on rising ($before, $token) where a plain counter fell ($naive_before, $naive_after)."
}

redis_is_away() {
    chapter "4. Redis is away: leases in PostgreSQL, and back"
    local before=$token during
    kill -STOP "$redis_pid"
    wait_for 30 is_stopped "$redis_pid" || die "redis was not stopped"
    say Redis "does not answer any more (SIGSTOP)"
    acquire A 30000 "$patience"
    during=$token
    say A "gets a lease from PostgreSQL instead, token $during"
    prove "the lease was granted by the database" "$issuer" database
    prove "and is kept there" \
        "$(sql "SELECT count(*) FROM fence_issuer WHERE resource = 'order:$order' AND lease_token = $during")" 1
    tell_expecting A written 'write delivered'
    tell_expecting A released release
    prove_rises "the token rose into PostgreSQL: $before, then $during" "$before" "$during"
    kill -CONT "$redis_pid"
    wait_for 60 redis_answers_or_ended
    say Redis "answers again, with the counters of before"
    work B archived
    say B "gets the lock from Redis, token $token, writes 'archived'"
    prove "the lock was granted by Redis again" "$issuer" redis
    prove_rises "the token rose on the way back: $during, then $token" "$during" "$token"
    prove "the order is as B left it" "$(row)" "archived B $token"
    lesson "With Redis away, PostgreSQL granted leases; tokens rose there ($during) and back ($token)."

    local guarded="FROM order_history WHERE n > $unguarded_writes"
    say PostgreSQL "the tokens of all committed writes since the guard was attached, in their order: \
$(sql "SELECT string_agg(fence_token::text, ', ' ORDER BY n) $guarded")"
    prove "none of these 5 writes had a lower token than the one before" \
        "$(sql "SELECT concat(count(*), ' writes, ', count(*) FILTER (WHERE fell), ' fell') FROM
            (SELECT fence_token < lag(fence_token) OVER (ORDER BY n) AS fell $guarded) AS writes")" \
        "5 writes, 0 fell"
}
