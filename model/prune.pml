/*
 * fence_prune beside claims and issues of a resource that it deletes: rows of fence_resource and fence_issuer that come
 * and go, and the floor that stays. One step is one look, one insertion, one commit.
 */
#include "witness.pml"

#define TOKENS 12
#ifndef PRUNES
#define PRUNES 2
#endif
#ifndef ISSUES
#define ISSUES 3
#endif
#define BLOCK 2

mtype = { absent, inserted, present, deleted };  /* inserted, deleted: by a transaction that runs */

mtype mark_row = absent, issuer_row = present;
byte mark = 0, issued = BLOCK, first = 1, floor = 0;
bool lease_runs = false;
bool inserts_mark[2];                            /* which checker's row it is that is inserted */
bool given[TOKENS + 1];
byte highest_claim = 0;                          /* of committed transactions */
byte issues = 0;

#ifdef FLOOR_FROM_MARKS
#define deleted_rows_reach (mark)
#else
#define deleted_rows_reach (mark > issued -> mark : issued)
#endif

/* judge_unknown: by the issues, where there is a row, else by the floor. */
inline judge(t, good)
{
    if
    :: issuer_row == present || issuer_row == deleted -> good = (t <= issued && t >= first)
    :: issuer_row == absent || issuer_row == inserted ->
        witness(judged_by_floor);
        good = (t >= floor)
    fi
}

proctype checker(byte me)
{
    byte t;
    bool good;
    do
    :: atomic { t < TOKENS -> t++ }
    :: atomic { t == TOKENS -> t = 0 }
    :: atomic { t > 0 && given[t] -> break }
    od;
look:
    if
    :: atomic { mark_row == present && t < mark -> witness(refused); goto done }
    :: atomic { mark_row == present && t >= mark ->
            if
            :: t == mark -> good = true
            :: t > mark -> judge(t, good)
            fi;
            if
            :: good -> assert(t >= highest_claim); mark = t; highest_claim = t; witness(raised)
            :: !good
            fi;
            goto done
        }
    :: atomic { mark_row == absent -> judge(t, good) };
        if
        :: !good -> goto done
        :: good
        fi;
        if
        :: atomic { mark_row == absent -> mark_row = inserted; inserts_mark[me] = true }
        :: atomic { mark_row != absent -> goto look }
        fi;
#ifndef FLOOR_READ_FIRST
        atomic {
            judge(t, good);
            if
            :: !good -> witness(refused_after_insertion); mark_row = absent; inserts_mark[me] = false; goto done
            :: good
            fi
        };
#endif
        if
        :: atomic { assert(t >= highest_claim); mark_row = present; mark = t; highest_claim = t; inserts_mark[me] = false; witness(first_mark) }
        :: atomic { mark_row = absent; inserts_mark[me] = false }
        fi
    fi;
done:
    skip
}

inline reserve(n)
{
    base = issued;
    base = (base > floor_seen -> base : floor_seen);
    base = ((mark_row == present || mark_row == deleted) && mark > base -> mark : base);
    within_bounds(base + n <= TOKENS);
    i = 1;
    do
    :: i <= n -> assert(!given[base + i]); given[base + i] = true; i++
    :: i > n -> break
    od;
    first = base + 1; issued = base + n; i = 0; base = 0
}

proctype issuing()
{
    byte base, i, floor_seen;
end:
    do
    :: issues < ISSUES ->
#ifdef ISSUE_READS_FLOOR_FIRST
        floor_seen = floor;
#endif
        if
        :: issuer_row == present
        :: atomic { issuer_row == absent -> witness(issuer_row_again); issuer_row = inserted; issued = 0; first = 0 }
        fi;
        atomic {
            if
            :: issuer_row == absent -> floor_seen = 0; skip
            :: issuer_row == deleted -> floor_seen = 0; skip
            :: issuer_row == present || issuer_row == inserted ->
#ifndef ISSUE_READS_FLOOR_FIRST
                floor_seen = floor;
#endif
                if
                :: reserve(BLOCK)
                :: !lease_runs -> reserve(1); lease_runs = true; witness(leased)
                fi;
                issuer_row = present; issues++; floor_seen = 0
            fi
        }
    od
}

proctype lease_end()
{
end:
    do
    :: atomic { lease_runs -> lease_runs = false }
    od
}

proctype prune()
{
    byte n = 0;
    byte reach;
end:
    do
    :: n < PRUNES ->
end_nothing_to_prune:
#ifdef PRUNES_RUNNING_LEASE
        atomic { issuer_row == present && (mark_row == present || mark_row == absent) ->
#else
        atomic { issuer_row == present && !lease_runs && (mark_row == present || mark_row == absent) ->
#endif
            issuer_row = deleted; mark_row = (mark_row == present -> deleted : absent);
            reach = deleted_rows_reach
        };
        if
        :: atomic { /* COMMIT */
                assert(!lease_runs);       /* who was granted a lease keeps it */
                witness(pruned);
                issuer_row = absent; issued = 0; first = 0;
                mark_row = (mark_row == deleted -> absent : mark_row);
                mark = (mark_row == absent -> 0 : mark);
                floor = (reach > floor -> reach : floor)
            }
        :: atomic { issuer_row = present; mark_row = (mark_row == deleted -> present : mark_row) }
        fi;
        n++; reach = 0
    od
}

init
{
    atomic {
        given[1] = true; given[2] = true;
        run checker(0); run checker(1); run issuing(); run lease_end(); run prune()
    }
}
