-- fence_audit tells what undermines the guards. What it says of the whole server depends on that, so only tables count here.
\set ECHO none
\i sql/include/outcome.psql
CREATE VIEW audited AS SELECT target, finding, remedy FROM fence_audit() WHERE target LIKE '%audit\_%';
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';

CREATE TABLE audit_well (id int PRIMARY KEY);
SELECT fence_attach('audit_well', 'audit:well:{id}');
SELECT * FROM audited;

-- Guards that do not fire, or not for all; what runs after them.
CREATE TABLE audit_off (id int PRIMARY KEY);
SELECT fence_attach('audit_off', 'audit:off:{id}');
ALTER TABLE audit_off DISABLE TRIGGER zz_fence_guard;
CREATE TABLE audit_when (id int PRIMARY KEY);
CREATE TRIGGER own_guard BEFORE INSERT OR UPDATE OR DELETE ON audit_when FOR EACH ROW WHEN (pg_trigger_depth() > 1)
    EXECUTE FUNCTION fence_guard('resource=audit:when:{id}');
CREATE TRIGGER zz_later BEFORE INSERT ON audit_when FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT * FROM audited ORDER BY target COLLATE "C", finding COLLATE "C";
DROP TABLE audit_off, audit_when;

-- Tables that a guard does not reach, or only warns of.
CREATE TABLE audit_parent (id int);
CREATE TABLE audit_child () INHERITS (audit_parent);
SELECT fence_attach('audit_parent', 'audit:parent:{id}', 'fence_token', 'unfenced=warn');
CREATE TABLE audit_parts (id int) PARTITION BY LIST (id);
SELECT fence_attach('audit_parts', 'audit:parts:{id}');
CREATE TABLE audit_part PARTITION OF audit_parts FOR VALUES IN (1);
DROP TRIGGER zz_fence_guard_truncate ON audit_part;
SELECT * FROM audited ORDER BY target COLLATE "C", finding COLLATE "C";
SELECT fence_attach('audit_parts', 'audit:parts:{id}');
SELECT count(*) FROM audited WHERE target LIKE '%audit\_part';
DROP TABLE audit_child, audit_parent, audit_parts;

-- Guards that their table does not live up to any more.
CREATE TABLE audit_renamed (id int PRIMARY KEY);
SELECT fence_attach('audit_renamed', 'audit:renamed:{id}');
ALTER TABLE audit_renamed RENAME id TO number;
CREATE TABLE audit_keyless (id int CONSTRAINT audit_key PRIMARY KEY);
SELECT fence_attach('audit_keyless', 'audit:keyless:{id}', 'fence_token', 'mark=row');
ALTER TABLE audit_keyless DROP CONSTRAINT audit_key;
SELECT * FROM audited ORDER BY target COLLATE "C", finding COLLATE "C";
DROP TABLE audit_renamed, audit_keyless;

-- Who may write the tables of fencelock, or relax enforcement.
CREATE ROLE regress_fencelock_audited;
GRANT UPDATE ON fence_resource TO regress_fencelock_audited;
ALTER ROLE regress_fencelock_audited SET fencelock.enforce = 'warn';
CREATE FUNCTION audited_relaxes() RETURNS void LANGUAGE sql SECURITY DEFINER SET fencelock.enforce = off AS '';
CREATE FUNCTION audited_replays() RETURNS void LANGUAGE sql SET session_replication_role = replica SET fencelock.enforce = on AS '';
SET fencelock.enforce = off;
SELECT finding, remedy FROM fence_audit() WHERE finding LIKE '%audited%' OR finding LIKE '%in this session' ORDER BY finding COLLATE "C";
RESET fencelock.enforce;
DROP FUNCTION audited_relaxes(), audited_replays();
REVOKE UPDATE ON fence_resource FROM regress_fencelock_audited;
DROP ROLE regress_fencelock_audited;

-- Triggers of fencelock's own tables, as a restore with --disable-triggers leaves them; what it says to do is enough.
ALTER TABLE fence_issuer DISABLE TRIGGER ALL;
SELECT finding, remedy FROM fence_audit() WHERE target LIKE '%fence\_issuer' ORDER BY finding COLLATE "C";
ALTER TABLE fence_issuer ENABLE TRIGGER ALL;
SELECT finding, remedy FROM fence_audit() WHERE target LIKE '%fence\_issuer' ORDER BY finding COLLATE "C";
ALTER TABLE fence_issuer ENABLE ALWAYS TRIGGER fence_renew_stamp;
SELECT finding, remedy FROM fence_audit() WHERE target LIKE '%fence\_issuer' ORDER BY finding COLLATE "C";

-- What is attached, as a table.
SELECT * FROM fence_attachment WHERE target = 'audit_well'::regclass;
DROP VIEW audited;
DROP TABLE audit_well;
DROP FUNCTION nothing();
