/*
 * Claims of one resource that meet: the row of fence_resource, transactions that present tokens to it, write, and commit
 * or roll back. One step is one look at the row, one look at fence_issuer, one attempt to lock or change the row, one
 * turn of waiting: what extension/mark_store.cpp and row_wait.cpp do between two looks is not atomic here either.
 *
 * What the options mean is told in `runs` and docs/model.md; names in the block "Shortcuts" make a condition weaker.
 */

#include "witness.pml"

#ifndef SESSIONS
#define SESSIONS 3
#endif
#ifndef ROUNDS
#define ROUNDS 1       /* transactions of each session, one after the other */
#endif
#ifndef HIGHEST
#define HIGHEST 3      /* tokens are 1 to this; the mark is 1 at the beginning */
#endif
#define TRANSACTIONS (SESSIONS * ROUNDS)
#define bit(x) (1 << (x))
#define nobody 255
#define initial 255    /* the writer of the first version, whom every snapshot sees */

/* ---- Shortcuts */

#ifdef FORGETS_FINISHED_SHARERS
#define traces_seen (several && (traces & running) == 0 -> 0 : traces)
#else
#define traces_seen traces
#endif

#ifdef LOCKERS_NOT_LOOKED_AT
#define unseen_sharers(seen) 0
#else
#define unseen_sharers(seen) ((traces_seen) & ~(seen) & ~bit(me))
#endif

#ifdef RAISE_IGNORES_SHARERS
#define others_share false
#else
#define others_share ((sharers & ~bit(me)) != 0)
#endif

#ifdef ANY_SNAPSHOT
#define reads_behind(condition) false
#else
#define reads_behind(condition) (repeatable && (condition))
#endif

#ifdef LOOKS_BEFORE_LOCK
#define others_finished false
#else
#define others_finished ((finished & ~bit(me)) != l_finished)
#endif

#ifdef OWN_LOCK_HIDES
#define remembers false
#else
#define remembers true
#endif

#ifdef PENDING_UNSEEN
#define highest_seen (l_mark)
#else
#define highest_seen (l_mark > l_pending -> l_mark : l_pending)
#endif

#include "claims_row.pml"

proctype session(byte number)
{
    byte me, round = 0, t, claims = 0, seen, newest, i, ahead;
    byte l_mark, l_pending, l_version, l_finished;
    bool repeatable, waited, unseen_before;

begin:
    atomic {
        me = number * ROUNDS + round; running = running | bit(me);
        if
        :: t = 1
        :: t = 2
#if HIGHEST > 2
        :: t = 3
#endif
        fi;
        if
        :: repeatable = false
#ifdef SNAPSHOTS
        :: repeatable = true; seen = finished /* it has read something, or reads it now */
#endif
        fi
    };

check:
    atomic { waited = false; ahead = (line != nobody && announced[line] > t -> line + 1 : 0) };

look:
    atomic {
        l_mark = mark; l_pending = (raiser == me -> 0 : pending); l_version = version; l_finished = finished;
        if
        :: raiser == me -> /* own raise: only upwards, and nobody else is there */
            if
            :: t <= pending -> goto write
            :: else -> witness(raises_its_own_raise); pending = t; claim_of[me] = t; goto write
            fi
        :: else
        fi
    };
decide:
    if
    :: t < highest_seen && l_pending <= l_mark -> witness(below_the_mark); goto refused
    :: t < highest_seen && l_pending > l_mark -> witness(below_a_claim_in_progress); goto refused
    :: t >= highest_seen && t == l_mark ->
        /* present_equal, share_mark */
#ifdef EQUAL_NEEDS_NO_LOCK
        atomic { claim_of[me] = t; goto write };
#endif
        if
        :: l_pending != 0 -> goto queue_shared
        :: l_pending == 0
        fi;
        atomic {
#ifndef WAITERS_IGNORED
            if
            :: traces != 0 && (line_shared & bit(me)) == 0 && line != me && line != nobody -> witness(stands_behind_waiters); goto queue_shared
            :: else
            fi;
#endif
            if
            :: version == l_version && raiser != nobody -> goto queue_shared
            :: else
            fi
        };
        atomic {
            if
            :: reads_behind(waited || (l_version == version && writer != initial && (seen & bit(writer)) == 0)) ->
                goto conflict
            :: else
            fi;
            if
            :: version == l_version && raiser == nobody -> /* lock_version: shared */
                witness(shared);
                unseen_before = remembers && (unseen_before || (unseen_sharers(seen)) != 0 || others_finished);
                several = ((traces & running & ~bit(me)) != 0);
                traces = (traces & running) | bit(me); sharers = sharers | bit(me);
                claim_of[me] = t;
                assert(ahead == 0 || line != ahead - 1); /* it has not passed a newer one that stood in line before */
                assert_claim_is_good(t, repeatable, seen);
                leave_line();
                goto write
            :: else -> goto look
            fi
        }
    :: t >= highest_seen && t > l_mark ->
        /* raise_mark: judge_by_issues, write_mark */
        if
        :: t > issued || t < first -> goto refused
        :: t <= issued && t >= first
        fi;
        if
        :: l_pending != 0 -> goto queue_raise
        :: l_pending == 0
        fi;
        atomic {
            if
            :: version == l_version && (raiser != nobody || others_share) -> goto queue_raise
            :: else
            fi;
            highest_announced(newest);
            if
            :: traces != 0 && line != me && line != nobody && newest > t -> witness(newer_waits_for_sharers); newest = 0; goto refused
            :: else -> newest = 0
            fi
        };
        atomic {
            if
            :: reads_behind(waited || (l_version == version && ((writer != initial && (seen & bit(writer)) == 0) ||
                    (unseen_sharers(seen)) != 0)) || unseen_before) ->
                goto conflict
            :: else
            fi
        };
        atomic {
            if
#ifdef NO_LOOK_AGAIN
            :: raiser == nobody && !others_share -> /* whatever has become of the row since the look */
#else
            :: version == l_version && raiser == nobody && !others_share -> /* replace_row */
#endif
                if
                :: reads_behind(others_finished) -> witness(finished_since_the_look); goto conflict
                :: else
                fi;
                witness(raised);
                raiser = me; pending = t; traces = bit(me); several = false;
                claim_of[me] = t;
                assert_claim_is_good(t, repeatable, seen);
                leave_line();
                goto write
            :: else -> goto look
            fi
        }
    fi;

queue_raise:
    atomic {
        assert(!(l_pending > t));     /* it waits for no newer one */
        if
        :: line == me ->
            /* wait_for_transaction, of whoever was seen to hold the row */
            waited = true;
            (version != l_version || (raiser == nobody && !others_share));
            witness(waited_to_raise);
            goto again
        :: else -> highest_announced(newest)
        fi;
        if
        :: newest > t -> witness(newer_waits); newest = 0; goto refused
        :: else -> newest = 0; announced[me] = t; waited = true; line_shared = line_shared & ~bit(me)
        fi
    };
    if
    :: atomic { version == l_version && line == nobody && (line_shared & ~bit(me)) == 0 -> line = me }
    :: version != l_version
#ifdef CANCELS
    :: goto refused /* lock_timeout, a deadlock */
#endif
    fi;
    goto look;

queue_shared:
    atomic {
        assert(!(l_pending > t));
        if
        :: (line_shared & bit(me)) != 0 ->
            waited = true;
            (version != l_version || raiser == nobody);
            witness(waited_to_share);
            goto again
        :: else -> highest_announced(newest)
        fi;
        if
        :: newest > t -> newest = 0; goto refused
        :: else -> newest = 0; announced[me] = t; waited = true; line = (line == me -> nobody : line)
        fi
    };
    if
    :: atomic { version == l_version && line == nobody -> line_shared = line_shared | bit(me) }
    :: version != l_version
#ifdef CANCELS
    :: goto refused
#endif
    fi;
    goto look;

again:
#ifdef NO_LOOK_AGAIN
    goto decide;
#else
    goto look;
#endif

write:
    if
#ifdef TWO_CLAIMS
    :: atomic { claims == 0 && t < HIGHEST -> witness(claims_a_higher_one); claims++; t++; goto check }
#endif
    :: d_step { /* writes, and commits */
            witness(written);
            if
            :: last_written != 0 && t > last_written -> witness(two_writers)
            :: else
            fi;
            assert(t >= last_written);                                     /* promise 1 */
            last_written = t; written = written | bit(me);
            end_transaction(true)
        }
    :: d_step { end_transaction(true) } /* commits the claim alone */
    :: d_step { end_transaction(false) }
    fi;
    goto ended;

conflict:  /* 40001 */
    atomic { witness(conflict); assert(repeatable) };
refused:
    atomic { end_transaction(false) };

ended:
    atomic {
        t = 0; claims = 0; seen = 0; ahead = 0; l_mark = 0; l_pending = 0; l_version = 0; l_finished = 0;
        repeatable = false; waited = false; unseen_before = false;
        round++
    };
    if
    :: round < ROUNDS -> goto begin
    :: else
    fi
}

#ifdef VACUUM
/* Freezes a multixact none of whose members runs: their traces are gone. */
proctype vacuum()
{
end:
    d_step { several && (traces & running) == 0 -> traces = 0; several = false }
}
#endif

init
{
    byte n = 0;
    atomic {
        do
        :: n < SESSIONS -> run session(n); n++
        :: else -> break
        od;
#ifdef VACUUM
        run vacuum()
#endif
    }
}
