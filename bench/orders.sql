-- The table whose writes are counted, for a single-user backend: a command ends with a semicolon and an empty
-- line, and nowhere else.
CREATE FUNCTION empty_trigger() RETURNS trigger LANGUAGE c AS 'empty_trigger';

CREATE FUNCTION counting_begins() RETURNS void LANGUAGE c AS 'callgrind_switch';

CREATE FUNCTION counting_ends(name text) RETURNS void LANGUAGE c AS 'callgrind_switch';

CREATE TABLE orders (id int PRIMARY KEY, batch int NOT NULL, fence_token bigint, payload int NOT NULL) WITH (fillfactor = 30, autovacuum_enabled = off);

INSERT INTO orders SELECT id, 1, NULL, 0 FROM generate_series(1, 5001) AS id;

VACUUM ANALYZE;

