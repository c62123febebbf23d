-- One of the tables that are written: its name in :table, so many rows as :rows.
CREATE TABLE :table (id int PRIMARY KEY, batch int NOT NULL, fence_token bigint, payload int NOT NULL) WITH (fillfactor = 50);
INSERT INTO :table SELECT id, 1, NULL, 0 FROM generate_series(1, :rows) AS id;
VACUUM ANALYZE :table;
