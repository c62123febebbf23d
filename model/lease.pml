/*
 * The lease in time: one lock in one Redis, clients that acquire, renew, believe and release by their own clocks, which
 * run as fast as the server's; messages that arrive when they like. Within one server that loses nothing two clients
 * never believe in the lock at once; nothing else is promised, and the limits show it.
 */
#include "witness.pml"

#define CLIENTS 2
#ifndef END
#define END 6          /* the time at which everything stops */
#endif
#ifndef TTL
#define TTL 2
#endif
#ifndef PATIENCE
#define PATIENCE 2     /* for how long a request is waited for */
#endif
#define nobody 0

/* ---- Shortcuts */

#ifdef COUNTS_FROM_REPLY
#define counted_from time
#else
#define counted_from sent
#endif

#ifdef RELEASES_ANY_LOCK
#define is_ours true
#else
#define is_ours (holder == owner && held == token)
#endif

byte time = 0;
byte holder = nobody, held = 0, until = 0;      /* the key: owner, token, and when it expires */
byte last = 0;                                  /* tokens */
byte valid_until[CLIENTS];                      /* the client's own belief; 0: none */
byte waits_for[CLIENTS];                        /* the owner that it still asks for; 0: it has given up */

mtype = { no_call, acquire_call, renew_call, release_call, replied };

inline assert_nobody_else_believes()
{
    assert(valid_until[1 - me] <= time || valid_until[me] <= time)
}

proctype client(byte me)
{
    byte owner = me * 2 + 1, token, sent, not_after, granted;
    mtype call = no_call;
    bool again;

idle:
end:
    atomic {
        time < END -> sent = time; not_after = time + PATIENCE; call = acquire_call; waits_for[me] = owner
    };
end_asking:
asking:
    if
    :: atomic { call == acquire_call && time < not_after && (holder == nobody || holder == owner) ->
            if
            :: holder == owner -> witness(granted_again)
            :: holder == nobody -> last++; holder = owner; held = last
            fi;
            until = time + TTL; granted = held; call = replied
        }
    :: atomic { call == replied -> /* the reply arrives */
            call = no_call; waits_for[me] = 0; token = granted; granted = 0;
            valid_until[me] = counted_from + TTL;
            if
            :: valid_until[me] <= time -> witness(over_before_the_answer); valid_until[me] = 0; goto releasing
            :: valid_until[me] > time -> witness(believes)
            fi;
            assert_nobody_else_believes();
            goto holding
        }
    :: atomic { call == replied && !again -> /* the reply is lost: it asks again, as the same owner */
            witness(reply_lost); again = true; granted = 0;
            sent = time; not_after = time + PATIENCE; call = acquire_call; goto asking
        }
    :: atomic { time >= not_after -> /* it gives up; what is on its way may still arrive */
            waits_for[me] = 0;
            if
            :: call == acquire_call -> goto late
            :: call != acquire_call -> call = no_call; granted = 0; goto next
            fi
        }
    fi;
    goto asking;

late:
    if
#ifdef NO_NOT_AFTER
    :: atomic { holder == nobody && call == acquire_call ->
            last++; holder = owner; held = last; until = time + TTL;
            assert(waits_for[me] == owner)   /* who has given up is not given the lock */
        }
#endif
    :: atomic { call == acquire_call -> witness(arrives_late); call = no_call }
    fi;
    goto next;

holding:
    if
    :: atomic { time < valid_until[me] && time < END ->
            sent = time; not_after = valid_until[me]; call = renew_call }; goto renewing
    :: atomic { valid_until[me] <= time -> witness(lost_to_time); valid_until[me] = 0; goto releasing }
    :: atomic { valid_until[me] = 0; goto releasing }
    fi;

renewing:
    if
    :: atomic { time < not_after && holder == owner && held == token -> until = time + TTL; granted = 1; witness(renewed) }
    :: atomic { time >= not_after || holder != owner || held != token -> granted = 0 }
    fi;
    if
    :: atomic { granted == 1 && valid_until[me] > time ->
            granted = 0; call = no_call; valid_until[me] = counted_from + TTL;
            valid_until[me] = (valid_until[me] > time -> valid_until[me] : 0);
            assert_nobody_else_believes()
        }
    :: atomic { granted == 0 || valid_until[me] <= time -> granted = 0; call = no_call; valid_until[me] = 0; goto releasing }
    fi;
    goto holding;

releasing:
    if
    :: atomic { is_ours -> witness(released); holder = nobody; held = 0; until = 0 }
    :: atomic { !is_ours -> witness(released_what_was_gone) }
    :: skip /* it does not get through */
    fi;
next:
    atomic {
        token = 0; sent = 0; not_after = 0; again = false;
        if
        :: owner == me * 2 + 1 -> owner++; goto idle
        :: owner != me * 2 + 1
        fi
    }
}

proctype clock()
{
end:
    do
    :: atomic { time < END && !(holder != nobody && until <= time) -> time++ }
    :: atomic { holder != nobody && until <= time -> witness(expired); holder = nobody; held = 0; until = 0 }
#ifdef LOSES_THE_LOCK
    :: atomic { holder != nobody -> holder = nobody; held = 0; until = 0 }
#endif
    od
}

init { atomic { run client(0); run client(1); run clock() } }
