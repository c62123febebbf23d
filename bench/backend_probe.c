/*
 * What the measurements need inside a backend: a trigger that does nothing, which is what any guard in C
 * costs at least, and switches for callgrind.
 */
#include "postgres.h"

#include <valgrind/callgrind.h>

#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(empty_trigger);
PG_FUNCTION_INFO_V1(counting_begins);
PG_FUNCTION_INFO_V1(counting_ends);

Datum
empty_trigger(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		PG_RETURN_POINTER(trigger->tg_newtuple);
	PG_RETURN_POINTER(trigger->tg_trigtuple);
}

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
