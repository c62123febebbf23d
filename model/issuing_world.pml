/*
 * What happens to the servers of issuing.pml: leases end, replicas lag, all of it fails, and copies of requests arrive.
 */

#ifdef LOST_REPLIES
/* Delivers copies, whatever has happened meanwhile: what not_after forbids besides is the matter of lease.pml. */
proctype network()
{
    byte which = 0, token, stop;
    mtype verdict;
deliver:
end:
    if
    :: late_at[0] != 0 -> which = 0
    :: late_at[1] != 0 -> which = 1
    fi;
    d_step {
        if
        :: answers(late_at[which] - 1, calls[CLIENTS + which].owner) ->
            witness(late_copy_runs);
            acquire_script(redis[late_at[which] - 1], calls[CLIENTS + which], verdict, token, stop);
            if
            :: verdict == granted -> witness(late_copy_granted)
            :: verdict != granted
            fi
        :: else
        fi;
        forget_call(calls[CLIENTS + which]);
        late_at[which] = 0; which = 0; token = 0; stop = 0; verdict = 0
    };
    goto deliver
}
#endif

inline copy_state(from, to)
{
    to.holder = from.holder; to.held = from.held;
    to.known = from.known; to.history = from.history; to.last = from.last; to.end = from.end;
    to.ticket = from.ticket; to.drawn = from.drawn; to.lifted = from.lifted
}

inline lose_hash(s)
{
    s.known = 0; s.history = 0; s.last = 0; s.end = 0; s.ticket = 0; s.drawn = 0; s.lifted = 0
}

inline new_lineage(s)
{
#ifdef RUN_ID_LINEAGE
    skip
#else
    lineages++; s.lineage = lineages
#endif
}

#define follows(a, b) (!redis[a].primary && redis[a].lineage == redis[b].lineage)
#define differs(a, b) (redis[a].holder != redis[b].holder || redis[a].held != redis[b].held || \
    redis[a].known != redis[b].known || redis[a].history != redis[b].history || redis[a].last != redis[b].last || \
    redis[a].end != redis[b].end || redis[a].ticket != redis[b].ticket || redis[a].drawn != redis[b].drawn || \
    redis[a].lifted != redis[b].lifted)

byte t;
proctype world()
{
end:
    do
    /* Leases end, without a word to anybody. */
    :: d_step { redis[0].holder != nobody -> redis[0].holder = nobody; redis[0].held = 0 }
    :: d_step { redis[1].holder != nobody && redis[1].primary -> redis[1].holder = nobody; redis[1].held = 0 }
#ifdef FALLBACK
    :: d_step { pg.runs -> pg.runs = false }
#endif
#ifdef REPLICA
    /* The replica catches up, now or never. */
    :: d_step { redis[0].primary && follows(1, 0) && differs(1, 0) -> copy_state(redis[0], redis[1]) }
#endif
#ifdef LOSS
    /* The hash is evicted, or expires; FLUSHALL takes the lock as well. */
    :: d_step { faults < FAULTS && redis[0].primary && (redis[0].known || redis[0].ticket) ->
            faults++; witness(state_evicted); lose_hash(redis[0]) }
    :: d_step { faults < FAULTS && redis[0].primary && (redis[0].known || redis[0].ticket) ->
            faults++; witness(all_flushed); lose_hash(redis[0]); redis[0].holder = nobody; redis[0].held = 0 }
#endif
#ifdef RESTART
    /* The primary restarts: with all it had, or with what it had written at the time of the copy. */
    :: d_step { faults < FAULTS && redis[0].primary -> faults++; witness(restarted); new_lineage(redis[0]) }
    :: d_step { faults < FAULTS && redis[0].primary && follows(1, 0) && differs(1, 0) ->
            faults++; witness(restarted_with_less); copy_state(redis[1], redis[0]); new_lineage(redis[0]) }
#endif
#ifdef PROMOTION
    /* The replica is promoted as it is; the old primary is gone, */
    :: d_step { faults < FAULTS && redis[0].primary && !redis[1].primary ->
            faults++;
            if
            :: differs(0, 1) -> witness(lagging_replica_promoted)
            :: !differs(0, 1)
            fi;
            redis[1].primary = true; new_lineage(redis[1]); redis[0].primary = false }
#endif
#ifdef SPLIT
    /* or it goes on as a primary of its own. */
    :: d_step { faults < FAULTS && redis[0].primary && !redis[1].primary ->
            faults++; witness(split); redis[1].primary = true; new_lineage(redis[1]) }
#endif
#ifdef COMING_BACK
    /* The old primary comes back as a replica of the new one, and is promoted again. */
    :: d_step { redis[1].primary && redis[0].lineage != redis[1].lineage ->
            witness(old_primary_demoted);
            redis[0].primary = false; redis[0].lineage = redis[1].lineage; copy_state(redis[1], redis[0]) }
    :: d_step { faults < FAULTS && redis[1].primary && follows(0, 1) ->
            faults++; witness(old_primary_promoted_again); redis[0].primary = true; new_lineage(redis[0]); redis[1].primary = false }
#endif
#ifdef PG_FAILOVER
    :: d_step { standby.issued != pg.issued || standby.mark != pg.mark || standby.first != pg.first ||
                standby.known != pg.known || standby.generation != pg.generation || standby.runs != pg.runs ||
                standby.leased != pg.leased || standby.ticket != pg.ticket || standby.claimed != pg.claimed ||
                standby.lease != pg.lease ->
            standby.issued = pg.issued; standby.first = pg.first; standby.ticket = pg.ticket;
            standby.leased = pg.leased; standby.lease = pg.lease; standby.runs = pg.runs;
            standby.generation = pg.generation; standby.known = pg.known;
            standby.mark = pg.mark; standby.claimed = pg.claimed }
    /* The standby is promoted, or a backup restored: what it lacks is lost, with the claims in progress. */
    :: d_step { faults < FAULTS ->
            faults++;
            pg.issued = standby.issued; pg.first = standby.first; pg.ticket = standby.ticket;
            pg.leased = standby.leased; pg.lease = standby.lease; pg.runs = standby.runs;
            pg.generation = standby.generation; pg.known = standby.known;
            pg.mark = standby.mark; pg.claimed = standby.claimed;
            claimant = nobody; claim = 0;
            witness(database_failed_over);
            identity++; clock++;
            t = 1;
            do
            :: t <= TOKENS && order_of[t] != 0 && t > pg.issued -> witness(grant_lost_with_the_database); lost[t] = true; t++
            :: t <= TOKENS && (order_of[t] == 0 || t <= pg.issued) -> t++
            :: else -> break
            od;
            t = 0 }
#endif
    od
}
