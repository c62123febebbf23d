# The extension builds with PGXS; the client with CMake, through the targets at the end.
EXTENSION = fencelock
MODULE_big = fencelock
EXTENSION_VERSION := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" fencelock.control)
DATA = $(wildcard extension/fencelock--*.sql)
OBJS = $(patsubst %.cpp,%.o,$(sort $(wildcard extension/*.cpp)))

REGRESS = $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
REGRESS_OPTS = --encoding=UTF8 --load-extension=fencelock
# pg_isolation_regress comes with 14 and newer.
ISOLATION_ALL = $(patsubst specs/%.spec,%,$(sort $(wildcard specs/*.spec)))
ISOLATION = $(if $(filter 13,$(MAJORVERSION)),,$(ISOLATION_ALL))
ISOLATION_OPTS = --encoding=UTF8 --load-extension=fencelock
EXTRA_CLEAN = tmp_check

PG_CONFIG ?= pg_config
# As system headers the server's do not raise warnings of ours.
PG_CPPFLAGS = -isystem $(shell $(PG_CONFIG) --includedir-server) -DFENCELOCK_VERSION='"$(EXTENSION_VERSION)"'
PG_CXXFLAGS = -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden \
	-fvisibility-inlines-hidden -Wall -Wextra -Wshadow

PGXS := $(shell $(PG_CONFIG) --pgxs)
# Bitcode would be compiled without PG_CXXFLAGS, and serves only to inline functions into queries.
override with_llvm = no
# PGXS links with $(CC). The module needs no C++ runtime, so that is what it shall be linked with.
include $(PGXS)

$(OBJS): $(wildcard extension/*.hpp) Makefile

# What needs servers of its own, several mostly: t/*.pl, against the installation that PG_CONFIG names. Not as root, and
# with a directory that can be written; TAP_TESTS=1 makes installcheck run them too.
.PHONY: prove_installcheck
prove_installcheck:
	$(prove_installcheck)

# What PGXN takes: HEAD, as NAME-VERSION.zip.
DIST_DIR ?= .
dist_name = $(EXTENSION)-$(EXTENSION_VERSION)

.PHONY: dist
dist:
	git archive --format=zip --prefix=$(dist_name)/ --output='$(DIST_DIR)/$(dist_name).zip' HEAD

# The client: library, headers, CMake package, pkg-config file, and the command line.
PREFIX ?= /usr/local
CLIENT_BUILD ?= build/client
CLIENT_FLAGS ?=

.PHONY: client install-client check-client
client:
	cmake -S client -B $(CLIENT_BUILD) -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCMAKE_INSTALL_PREFIX='$(PREFIX)' $(CLIENT_FLAGS)
	cmake --build $(CLIENT_BUILD)

install-client: client
	DESTDIR='$(DESTDIR)' cmake --install $(CLIENT_BUILD)
	@[ -n '$(DESTDIR)' ] || { $(tell_loader); }

# What is not staged is for this machine. Its loader's cache is renewed where it covers the directory, and else is no
# business of ours.
define tell_loader
PATH="$$PATH:/usr/sbin:/sbin"; \
	library=$$(grep -m 1 '/libfencelock\.so' '$(CLIENT_BUILD)/install_manifest.txt'); \
	for directory in $$(ldconfig -N -X -v 2>/dev/null | sed -n 's|^\(/[^:]*\):.*|\1|p'); do \
		if [ "$$directory" -ef "$${library%/*}" ]; then \
			if [ "$$(id -u)" = 0 ]; then ldconfig; fi; \
			exit; \
		fi; \
	done; \
	echo "The loader does not look into $${library%/*} by itself: docs/start.md says how to name it."
endef

# Needs the extension installed in the PostgreSQL that PG_CONFIG names, and a redis-server.
check-client:
	$(MAKE) client CLIENT_FLAGS='$(CLIENT_FLAGS) -DFENCELOCK_BUILD_TESTS=ON'
	cd $(CLIENT_BUILD) && PG_CONFIG='$(PG_CONFIG)' ctest --output-on-failure
