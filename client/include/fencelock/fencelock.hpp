// Everything.
#pragma once

#include <fencelock/client.hpp>
#include <fencelock/errors.hpp>
#include <fencelock/issuer.hpp>
#include <fencelock/lock.hpp>
#include <fencelock/lock_set.hpp>
#include <fencelock/observation.hpp>
#include <fencelock/redis_locks.hpp>
#include <fencelock/redlock_locks.hpp>
#include <fencelock/stamp.hpp>
#include <fencelock/transaction.hpp>
#include <fencelock/version.hpp>
