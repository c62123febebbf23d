/*
 * The generations of tokens: a primary and two standbys of PostgreSQL, each with its copy of fence_history_state and
 * fence_issuer (one resource); issues, streaming that lags, promotions one after the other, crashes. The standbys share
 * no archive: both call themselves the next timeline.
 */
#include "witness.pml"

#ifndef SPAN
#define SPAN 6         /* tokens of a generation */
#endif
#define GENERATIONS 5
#define TOKENS (SPAN * GENERATIONS)
#ifndef ISSUES
#define ISSUES 5
#endif
#define SERVERS 3

/* ---- Shortcuts, and limits */

#ifdef GENERATION_PLUS_ONE
#define next_generation(s) (s.generation + 1)
#else
#define next_generation(s) (s.generation + 1 > clock -> s.generation + 1 : clock)
#endif

#ifdef HISTORY_FROM_FIRST_ISSUE
#define installed 0
#else
#define installed 1
#endif

#ifdef SAME_INTERVAL
#define pass_interval skip
#else
#define pass_interval clock++
#endif

typedef server {
    bool primary;
    byte timeline;              /* with the system identifier, which all share, the history's identity */
    byte known, generation;     /* fence_history_state: the history that began the generation; 0: no row */
    byte issued                 /* fence_issuer */
}
server now_at[SERVERS], disk[SERVERS];
byte clock = 0, issues = 0, promotions = 0;
byte redis_end = 0;             /* the end of the block that Redis has: what `above` comes from */
bool given[TOKENS + 1];

inline copy_server(from, to)
{
    to.timeline = from.timeline; to.known = from.known; to.generation = from.generation; to.issued = from.issued
}

byte base;
inline issue(s, d, above)
{
    if
    :: s.known != s.timeline ->
        if
        :: s.known == 0
        :: s.known != 0 -> witness(new_history); s.generation = next_generation(s)
        fi;
        s.known = s.timeline
    :: s.known == s.timeline
    fi;
    base = (s.issued > above -> s.issued : above);
    base = (base > s.generation * SPAN -> base : s.generation * SPAN);
    if
    :: base + 1 > (s.generation + 1) * SPAN ->
#ifndef UNBOUNDED_ABOVE
        s.generation = next_generation(s);
        base = (base > s.generation * SPAN -> base : s.generation * SPAN)
#endif
    :: base + 1 <= (s.generation + 1) * SPAN
    fi;
    within_bounds(base + 1 <= TOKENS);
    s.issued = base + 1;
    assert(!given[s.issued]);   /* promise 4: tokens never repeat */
    given[s.issued] = true;
    issues++;
    base = 0;
#ifndef NO_FLUSH
    copy_server(s, d)
#endif
}

proctype world()
{
    byte p, q;
end:
    do
    :: d_step { p < SERVERS - 1 -> p++ }
    :: d_step { p > 0 -> p-- }
    :: d_step { q < SERVERS - 1 -> q++ }
    :: d_step { q > 0 -> q-- }
    :: d_step { now_at[p].primary && issues < ISSUES -> issue(now_at[p], disk[p], 0) }
#ifdef ABOVE
    :: d_step { now_at[p].primary && issues < ISSUES -> issue(now_at[p], disk[p], redis_end); redis_end = now_at[p].issued }
#endif
#ifdef UNBOUNDED_ABOVE
    :: d_step { now_at[p].primary && issues < ISSUES && now_at[p].issued < SPAN ->
            issue(now_at[p], disk[p], SPAN + 1) }
#endif
    :: d_step { now_at[p].primary && !now_at[q].primary && now_at[q].timeline <= now_at[p].timeline && disk[p].issued != disk[q].issued ->
            witness(streamed); copy_server(disk[p], disk[q]); copy_server(disk[p], now_at[q]) }
    /* The standby takes over; its primary is gone, or, where that is said, goes on. */
    :: d_step { now_at[p].primary && !now_at[q].primary && promotions < 2 ->
            promotions++;
            if
            :: now_at[q].issued < now_at[p].issued -> witness(issues_lost)
            :: now_at[q].issued >= now_at[p].issued
            fi;
#ifndef OLD_PRIMARY_LIVES
            now_at[p].primary = false; now_at[p].timeline = 255;
#endif
            now_at[q].primary = true; now_at[q].timeline++; disk[q].timeline = now_at[q].timeline;
            pass_interval }
    /* Crash recovery: the history goes on, with what was written to disk. */
    :: d_step { now_at[p].primary -> witness(crashed); copy_server(disk[p], now_at[p]) }
#ifdef NO_FLUSH
    :: d_step { now_at[p].primary -> copy_server(now_at[p], disk[p]) }
#endif
    od
}

init
{
    byte i = 0;
    atomic {
        do
        :: i < SERVERS ->
            now_at[i].timeline = 1; now_at[i].known = installed;
            disk[i].timeline = 1; disk[i].known = installed;
            i++
        :: i >= SERVERS -> break
        od;
        now_at[0].primary = true;
        run world()
    }
}
