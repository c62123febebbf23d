// The symbols that leave the library; everything else is hidden.
#pragma once

#define FENCELOCK_EXPORT __attribute__((visibility("default")))
