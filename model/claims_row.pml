/*
 * The row of claims.pml: what fence_resource and fence_issuer keep of the one resource, what is promised of a claim on it,
 * and how a transaction leaves it.
 */

/* ---- fence_resource. A transaction is known by its number, sets of them are bits. */

byte mark = 1, writer = initial;         /* the version that is settled, and who wrote it (xmin) */
byte version = 0;                        /* counts its changes */
byte pending = 0, raiser = nobody;       /* the mark in progress */
byte sharers = 0;                        /* who holds a share lock on it */
byte traces = 0;                         /* who is named in xmax, finished ones included */
bool several = false;                    /* xmax is a multixact */
byte line = nobody;                      /* who stands first in line for it, to raise it (the tuple lock) */
byte line_shared = 0;                    /* or who do, to share it */
byte announced[TRANSACTIONS];            /* tokens of those who wait */

byte running = 0, finished = 0;          /* transactions */

/* ---- fence_issuer, as committed: nothing to it but a first and a last token. */
byte first = 1, issued = HIGHEST;

/* ---- For the properties only. */
byte claim_of[TRANSACTIONS];             /* claims that hold: of transactions that run, or have committed a write */
byte written = 0;                        /* who has committed a write */
byte last_written = 0;

inline highest_announced(result)
{
    d_step {
        result = 0; i = 0;
        do
        :: i < TRANSACTIONS ->
            result = (i != me && announced[i] > result -> announced[i] : result);
            i++
        :: else -> break
        od;
        i = 0
    }
}

/* What is promised of a claim, whatever it rests on; `seen` is the snapshot by which its transaction reads. */
inline assert_claim_is_good(t, by_snapshot, seen)
{
    d_step {
        i = 0;
        do
        :: i < TRANSACTIONS ->
            /* Nobody with a higher token holds a claim, or has committed a write (promises 1 and 2), */
            assert(claim_of[i] <= t || (written & bit(i)) == 0 && (running & bit(i)) == 0);
            /* no earlier holder can still commit, */
            assert(i == me || claim_of[i] == 0 || claim_of[i] == t || (running & bit(i)) == 0);
            /* and what earlier holders wrote can be read. */
            assert(!by_snapshot || (written & bit(i)) == 0 || claim_of[i] >= t || ((seen) & bit(i)) != 0);
            i++
        :: else -> break
        od;
        i = 0
    }
}

inline leave_line()
{
    line = (line == me -> nobody : line);
    line_shared = line_shared & ~bit(me);
    announced[me] = 0
}

inline end_transaction(commits)
{
    if
    :: raiser == me && commits ->
        mark = pending; writer = me; version++; pending = 0; raiser = nobody;
        traces = 0; sharers = 0; several = false;
        line = nobody; line_shared = 0 /* those who stand there stand before the old version */
    :: raiser == me && !commits -> pending = 0; raiser = nobody
    :: else
    fi;
    sharers = sharers & ~bit(me);
    leave_line();
    running = running & ~bit(me); finished = finished | bit(me);
    if
    :: !commits -> claim_of[me] = 0
    :: else
    fi
}
