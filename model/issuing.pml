/*
 * Who is given which token, and which of them PostgreSQL takes: one resource, its lock and its state in Redis (two
 * servers), its rows in PostgreSQL (and a standby), clients that acquire, stall, claim, write, and release.
 *
 * One step is one atomic act of the real thing: a script in Redis, a committed transaction in PostgreSQL, a claim
 * (fence_check), the commit that follows it. Between any two of them anybody may be stopped for as long as it likes, and
 * any lease may end. docs/model.md says which step stands for which code, and what is left out.
 *
 * Which faults there are, and how many of everything, is told by -D options, see `runs`; so is the one shortcut, if any,
 * that is taken (NO_..., and the other names in the block "Shortcuts").
 */

#include "witness.pml"

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef TURNS
#define TURNS 1        /* acquisitions of each client */
#endif
#ifndef OTHERS
#define OTHERS TURNS   /* the same of all but the first client */
#endif
#ifndef WRITES
#define WRITES 1       /* transactions of each handle */
#endif
#ifndef BLOCK
#define BLOCK 2        /* tokens of a reservation for Redis */
#endif
#ifndef FAULTS
#define FAULTS 0       /* faults of servers and network in one run */
#endif
#ifndef SPAN
#define SPAN 16        /* tokens of a generation */
#endif
#ifndef GENERATIONS
#define GENERATIONS 1
#endif
#ifndef ROUNDS
#define ROUNDS 3       /* SEED answers that a client takes in one acquisition */
#endif
#define TOKENS (SPAN * GENERATIONS)
#define nobody 0
#define nothing 0

/* ---- Shortcuts: each makes a condition of the protocol weaker than it is. */

#if defined(NO_LINEAGE) || defined(PLAIN_COUNTER)
#define counts_here(s) true
#else
#define counts_here(s) (s.known == s.lineage)
#endif

#if defined(NO_HISTORY) || defined(PLAIN_COUNTER)
#define of_history(s, h) true
#else
#define of_history(s, h) (s.history == h)
#endif

#ifdef NO_ROLE_CHECK
#define may_answer(s) true
#else
#define may_answer(s) (s.primary)
#endif

#ifdef TICKET_OF_ANY_LINEAGE
#define is_void(s) false
#else
#define is_void(s) (s.drawn != s.lineage)
#endif

#ifdef NO_TICKET
#define fits(s, given) (given != nothing)
#else
#define fits(s, given) (given != nothing && given == pending)
#endif

#ifdef AGAIN_IGNORES_ABOVE
#define is_above(token, bound) true
#else
#define is_above(token, bound) (token > bound)
#endif

#ifdef NO_RETIREMENT
#define is_retired(t) false
#else
#define is_retired(t) (t < pg.first)
#endif

#ifdef EACH_SEEDER_RESERVES
#define is_repeated(t) false
#else
#define is_repeated(t) (t == pg.ticket)
#endif

#ifdef LEASE_AGAIN_ALWAYS
#define lease_is_good true
#else
#define lease_is_good (pg.lease == pg.first && pg.lease == pg.issued && pg.mark <= pg.lease && \
                       pg.lease > pg.generation * SPAN && pg.known == identity)
#endif

#ifdef PLAIN_COUNTER
#define was_issued(t) true
#define used_up(s) false
#else
#define was_issued(t) (pg.issued == 0 || t <= pg.issued)
#define used_up(s) (s.last >= s.end)
#endif

#include "issuing_servers.pml"

proctype client(byte me)
{
    byte turn = 0, above = 0, at = 0, token = 0, end = 0, first = 0, bound = 0, writes = 0;
    byte since = 0;         /* the grant with which the caller was given its handle, and began to read */
    byte rounds = 0;
    byte knows = 0;         /* the id of the database's history */
    byte unknown_here = 0;  /* LF004 */
    bool from_redis;
    mtype verdict;

begin:
    atomic {
        calls[me].owner = new_owner; calls[me].above = above
    };
#ifdef PG_FAILOVER
    if /* the id of the history that it was told when it connected */
    :: knows == 0 || knows != history_now -> knows = history_now
    :: knows != 0 -> skip
    fi;
#else
    knows = history_now;
#endif
    calls[me].history = knows;

asking:
    atomic {
        if
        :: answers(0, calls[me].owner) -> at = 0
        :: answers(1, calls[me].owner) -> at = 1
#ifdef FALLBACK
        :: !pg.runs || pg.leased == calls[me].owner ->
            d_step {
                lease_script(calls[me].owner, token);
                end = token;
                calls[me].ticket = 0; calls[me].before = 0; calls[me].last = 0
            };
            goto holding
#endif
        fi;
        if
        :: d_step { acquire_script(redis[at], calls[me], verdict, token, end); from_redis = (verdict == granted) }
#ifdef LOST_REPLIES
        /* The script runs, and its reply is lost: the client asks again with the same words. */
        :: faults < FAULTS ->
            d_step {
                faults++; witness(reply_lost);
                acquire_script(redis[at], calls[me], verdict, token, end);
                verdict = 0; token = 0; end = 0; at = 0
            };
            goto asking
        /* A copy stays on its way, and runs when its sender may be through. */
        :: faults < FAULTS && late_at[me] == 0 ->
            d_step {
                faults++;
                late_at[me] = at + 1;
                calls[CLIENTS + me].owner = calls[me].owner; calls[CLIENTS + me].above = calls[me].above;
                calls[CLIENTS + me].ticket = calls[me].ticket; calls[CLIENTS + me].before = calls[me].before;
                calls[CLIENTS + me].last = calls[me].last; calls[CLIENTS + me].history = calls[me].history;
                at = 0
            };
            goto asking
#endif
        fi;
        if
        :: verdict == granted ->
            assert(token > calls[me].above);
            d_step { verdict = 0; calls[me].ticket = 0; calls[me].before = 0; calls[me].last = 0 };
            goto holding
        :: verdict == seed ->
            verdict = 0; rounds++;
            if
            :: rounds > ROUNDS -> goto ended
            :: else
            fi
        fi
    };
    d_step {
        at_least = (end > above -> end : above);
#ifdef OLD_BLOCK_NEW_TICKET
        if
        :: calls[me].ticket != nothing -> skip
        :: else -> issue_for(token, at_least, first); calls[me].before = first - 1
        fi;
        first = calls[me].before + 1;
#else
        issue_for(token, at_least, first);
#endif
        calls[me].ticket = token; calls[me].before = first - 1; calls[me].last = first + BLOCK - 1;
        knows = history_now; calls[me].history = knows;
        first = 0; token = 0; end = 0; at = 0; at_least = 0
    };
    goto asking;

holding:
    atomic {
#ifdef SILENT_NEW_TOKEN
        if
        :: since == 0 -> since = order_of[token]
        :: else
        fi
#else
        since = order_of[token]
#endif
    };

claiming:
    if
    /* Refused at once, whoever holds the row: the lower is over. */
    :: d_step { token < pg.mark || token < claim ->
            if
            :: token < pg.mark -> witness(refused_below_mark)
            :: else -> witness(refused_below_claim)
            fi;
            verdict = stale; bound = (pg.mark > claim -> pg.mark : claim)
        }
    /* A higher one waits until the row is free. */
    :: d_step { token == pg.mark && claimant == nobody ->
            witness(claimed_again);
            claimant = me + 1; claim = token
        }
    :: d_step { token > pg.mark && claimant == nobody ->
            if
            :: !was_issued(token) -> witness(refused_not_issued); verdict = not_issued;
#ifdef LF004_TELLS_ISSUED
                bound = pg.issued
#else
                bound = end
#endif
            :: else ->
                if
                :: is_retired(token) -> witness(refused_retired); verdict = stale; bound = pg.first
                :: else -> witness(mark_raised); claimant = me + 1; claim = token; assert_has_not_fallen(token)
                fi
            fi
        }
    :: goto release /* it never comes to write */
    fi;
    if
    :: verdict != 0 -> goto refused
    :: else
    fi;

    /* The transaction reads and writes here. */
    if
    :: d_step { claimant == me + 1 -> /* COMMIT */
            witness(written);
            if
            :: from_redis && redis[at].holder != calls[me].owner -> witness(written_after_the_lease)
            :: !from_redis || redis[at].holder == calls[me].owner
            fi;
            assert(token >= pg.mark);      /* promise 1 */
            assert(is_lost(token) || since >= pg.claimed); /* nobody granted earlier writes after a later one's claim */
            if
            :: order_of[token] > pg.claimed -> pg.claimed = order_of[token]
            :: else
            fi;
            pg.mark = token; claimant = nobody; claim = 0
        }
    :: d_step { claimant == me + 1 -> witness(rolled_back); claimant = nobody; claim = 0 } /* ROLLBACK */
#ifdef PG_FAILOVER
    :: claimant != me + 1 -> witness(claim_lost_in_failover) /* the server went away beneath it */
#endif
    fi;
    writes++;
    if
    :: writes < WRITES -> goto claiming
    :: else
    fi;

release:
    atomic {
        if
        :: from_redis -> release_script(redis[at], calls[me].owner, token, 0)
        :: else ->
            if
            :: pg.runs && pg.leased == calls[me].owner && pg.lease == token -> pg.runs = false; pg.leased = nobody
            :: else
            fi
        fi
    };
    goto ended;

refused:
#ifdef CALM
    assert(!from_redis || redis[at].holder != calls[me].owner); /* who still holds the lock is not refused */
#endif
    atomic {
        if
        :: verdict == not_issued ->
            unknown_here++;
            assert(unknown_here < 2);                      /* one refusal tells enough */
            assert(calls[me].history != history_now)       /* who knows this history gets its tokens */
        :: else
        fi;
        above = (bound > above -> bound : above)
    };
    if
    :: d_step {
        if
        :: from_redis -> release_script(redis[at], calls[me].owner, token, bound)
        :: else ->
            if
            :: pg.runs && pg.leased == calls[me].owner && pg.lease == token -> pg.runs = false; pg.leased = nobody
            :: else
            fi
        fi
        }
    :: skip /* the release does not get through */
    fi;
#ifdef SILENT_NEW_TOKEN
    if
    :: turn == 0 ->
        d_step {
            turn = 1; verdict = 0; bound = 0; token = 0; end = 0; at = 0;
            calls[me].above = above; calls[me].history = knows
        };
        goto asking
    :: else
    fi;
#endif

ended:
    atomic {
        forget_call(calls[me]);
        verdict = 0; bound = 0; token = 0; end = 0; at = 0; since = 0; writes = 0; rounds = 0; from_redis = false;
        turn++
    };
    if
    :: turn < (me == 0 -> TURNS : OTHERS) -> goto begin
    :: else
    fi
}

#include "issuing_world.pml"

init
{
    byte i = 0;
    d_step {
        pg.known = installed; standby.known = installed;
        redis[0].primary = true; redis[0].lineage = 1; redis[1].lineage = 1
    };
    atomic {
        do
        :: i < CLIENTS -> run client(i); i++
        :: else -> break
        od;
#ifdef LOST_REPLIES
        run network();
#endif
        run world()
    }
}
