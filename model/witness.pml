/*
 * witness(name): says once that this place was reached. What is promised of a state that never occurs holds in vain: so
 * scripts/model requires of each name that some run of its model reaches it. No part of the state.
 */
c_decl {
    static void witness_once(const char* name)
    {
        static const char* told[64];
        static int count = 0;
        int i;
        for (i = 0; i < count; i++)
            if (told[i] == name)
                return;
        told[count++] = name;
        printf("witness: %s\n", name);
    }
}
#define witness(name) c_code { witness_once(#name); }

/* A bound of the run, not a property of the protocol: where it is too small, the run has shown nothing. */
#define within_bounds(condition) \
    if \
    :: (condition) \
    :: else -> c_code { printf("out of bounds\n"); }; assert(false) \
    fi
