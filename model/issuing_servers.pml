/*
 * The servers of issuing.pml: what Redis and PostgreSQL keep, and what each script and function does to it in one step.
 */

/* ---- Redis. `known` to `lifted` are the one hash of the resource; known == 0: it has no block. */

typedef server {
    bool primary;
    byte lineage;      /* master_replid */
    byte holder, held; /* the lock: owner and token */
    byte known, history, last, end;
    byte ticket, drawn; /* the pending ticket, and the lineage that it was drawn under */
    byte lifted         /* no part of the real one: up to where a refusal has lifted `last` */
}
server redis[2];
byte lineages = 1, tickets = 0;

/* ---- PostgreSQL: what is committed, and the one transaction that may hold a claim. */

typedef database {
    byte issued, first, ticket;    /* fence_issuer; issued == 0: no row */
    byte leased, lease;            /* owner and token of a lease; `runs`: it has not ended */
    bool runs;
    byte generation, known;        /* the last generation, and the history that began it */
    byte mark;                     /* fence_resource */
    byte claimed                   /* no part of the real one: the latest grant whose claim is committed */
}
database pg, standby;
#ifdef HISTORY_FROM_FIRST_ISSUE
#define installed 0
#else
#define installed 1
#endif
byte identity = 1;                 /* of this history: system, timeline, ... */
byte clock = 0;                    /* in units of which two histories never share one */
#define next_generation (pg.generation + 1 > clock -> pg.generation + 1 : clock)
byte claimant = nobody;            /* the client whose transaction holds the claim, */
byte claim = 0;                    /* and its token */

#define history_now (identity * 8 + pg.generation)

/* ---- What is only for the properties. */

byte owner_of[TOKENS + 1], order_of[TOKENS + 1]; /* who was granted a token first, and as the how manieth grant */
bool lost[TOKENS + 1];                           /* the database has lost its issue */
byte grants = 0;
byte faults = 0;

/* ---- Requests on their way. The second half are copies that the network delivers later. */

typedef request { byte owner, above, ticket, before, last, history }
request calls[2 * CLIENTS];
byte late_at[CLIENTS];                           /* 1 + the server that the copy goes to, 0: there is none */
mtype = { granted, seed, stale, not_issued };

#ifdef ZOMBIES_OF_THE_LOST
#define is_lost(t) false
#else
#define is_lost(t) (lost[t])
#endif

inline forget_call(q)
{
    q.owner = 0; q.above = 0; q.ticket = 0; q.before = 0; q.last = 0; q.history = 0
}

inline note_grant(t, whom)
{
    within_bounds(t > 0 && t <= TOKENS);
    assert(owner_of[t] == nobody); /* promise 4: tokens never repeat */
    grants++;
    owner_of[t] = whom;
    order_of[t] = grants
}

/*
 * acquire.lua on server s for request q. Not called where it would say READONLY or BUSY, which change nothing.
 * Sets verdict, and token and end (GRANTED) or the ticket and the known end (SEED, in token and end as well).
 */
#define answers(n, who) (may_answer(redis[n]) && (redis[n].holder == nobody || redis[n].holder == who))

byte pending;
inline acquire_script(s, q, said, number, stop)
{
    if
    :: s.holder == q.owner && is_above(s.held, q.above) ->
        witness(granted_again);
        said = granted; number = s.held; stop = (s.end -> s.end : s.held)
    :: else ->
        pending = (is_void(s) -> nothing : s.ticket);
        if
        :: s.ticket != nothing && pending == nothing -> witness(ticket_is_void)
        :: s.ticket == nothing || pending != nothing
        fi;
        if
        :: fits(s, q.ticket) ->
            pending = nothing; s.ticket = nothing; s.drawn = 0;
            if
            :: s.known == 0 || q.before >= s.end ->
                witness(block_taken);
                s.known = s.lineage; s.history = q.history; s.last = q.before; s.end = q.last
            :: else
            fi
        :: else
        fi;
        if
        :: !counts_here(s) || !of_history(s, q.history) || used_up(s) || s.last < q.above ->
            if
            :: pending == nothing ->
#ifdef TICKET_IS_LINEAGE
                pending = s.lineage;
#else
                tickets++; pending = tickets;
#endif
                s.ticket = pending; s.drawn = s.lineage
            :: else
            fi;
            witness(asked_for_a_block);
            said = seed; number = pending; stop = s.end
        :: else ->
            s.last++;
            note_grant(s.last, q.owner);
            assert(s.last > s.lifted); /* what one holder was refused, the next is not given */
            s.holder = q.owner; s.held = s.last;
            said = granted; number = s.last; stop = s.end
        fi
    fi;
    pending = 0
}

/* release.lua, with the tokens up to `refused` passed by. */
inline release_script(s, whom, what, refused)
{
#ifndef NO_LIFT
    if
    :: s.known != 0 && s.last < refused -> witness(counter_lifted); s.last = (s.end < refused -> s.end : refused)
    :: else
    fi;
#endif
    if
    :: s.known != 0 && s.lifted < refused -> s.lifted = (s.end < refused -> s.end : refused)
    :: else
    fi;
    if
    :: s.holder == whom && s.held == what -> s.holder = nobody; s.held = 0
    :: else
    fi
}

/* reserve_in_row: n tokens above everything issued or accepted, and above `above`. */
byte base, at_least;
inline reserve(n, bound_)
{
    if
    :: pg.known != identity ->
        if
        :: pg.known == 0 -> skip
        :: else -> witness(new_generation); pg.generation = next_generation
        fi;
        pg.known = identity
    :: else
    fi;
    base = (pg.issued > pg.mark -> pg.issued : pg.mark);
    base = (base > claim -> base : claim);
    base = (base > bound_ -> base : bound_);
    base = (base > pg.generation * SPAN -> base : pg.generation * SPAN);
    within_bounds(base + n <= TOKENS);
    pg.first = base + 1;
    pg.issued = base + n;
    base = 0
}

/* fence_issue with a ticket */
inline issue_for(t, bound_, result)
{
    if
    :: is_repeated(t) && pg.first > bound_ && pg.first > pg.generation * SPAN && pg.known == identity -> witness(same_block_again)
    :: else -> reserve(BLOCK, bound_); pg.ticket = t
    fi;
    result = pg.first
}

/* fence_acquire, where no other owner's lease runs */
inline lease_script(whom, result)
{
    if
    :: pg.leased == whom && lease_is_good -> witness(same_lease_again)
    :: else ->
        witness(lease_granted);
        reserve(1, 0);
        pg.ticket = nothing; pg.lease = pg.first;
        note_grant(pg.first, whom)
    fi;
    pg.leased = whom; pg.runs = true;
    result = pg.lease;
    assert(pg.lease >= pg.first && pg.lease >= pg.mark) /* not one that is refused already */
}

/* No grant that came before t's has a higher token, unless the database has lost it. */
byte other;
inline assert_has_not_fallen(t)
{
    other = t + 1;
    do
    :: other <= TOKENS ->
        assert(order_of[other] == 0 || order_of[other] > order_of[t] || lost[other]);
        other++
    :: else -> break
    od;
    other = 0
}

#ifdef OWNER_IS_CLIENT
#define new_owner (me + 1)
#else
#define new_owner (me * TURNS + turn + 1)
#endif
