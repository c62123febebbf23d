/*
 * Lets a backend that runs under callgrind say what is counted.
 */
#include "postgres.h"

#include <valgrind/callgrind.h>

#include "fmgr.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(counting_begins);
PG_FUNCTION_INFO_V1(counting_ends);

Datum
counting_begins(PG_FUNCTION_ARGS)
{
	CALLGRIND_START_INSTRUMENTATION;
	PG_RETURN_VOID();
}

/* Writes the instructions since counting_begins to a file of their own, under this name. */
Datum
counting_ends(PG_FUNCTION_ARGS)
{
	CALLGRIND_STOP_INSTRUMENTATION;
	CALLGRIND_DUMP_STATS_AT(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}
