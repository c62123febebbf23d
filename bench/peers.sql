-- Guards that people write by hand. Single-user mode reads this too: there a command ends with a semicolon and
-- an empty line, and nowhere else.

CREATE EXTENSION fencelock;

-- The row's own column as the mark.
CREATE FUNCTION plpgsql_row_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.fence_token IS NULL OR NEW.fence_token < OLD.fence_token THEN
        RAISE EXCEPTION 'stale fencing token % for order %', NEW.fence_token, NEW.id;
    END IF;
    RETURN NEW;
END
$$;

-- A table of marks, a row for each resource, locked by whoever writes under it.
CREATE TABLE mark (resource text PRIMARY KEY, token bigint NOT NULL) WITH (fillfactor = 50, autovacuum_enabled = off);

CREATE FUNCTION plpgsql_resource_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    name text := 'order:' || NEW.id;
    accepted bigint;
BEGIN
    SELECT token INTO accepted FROM mark WHERE resource = name FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO mark VALUES (name, NEW.fence_token);
    ELSIF NEW.fence_token IS NULL OR NEW.fence_token < accepted THEN
        RAISE EXCEPTION 'stale fencing token % for %', NEW.fence_token, name;
    ELSIF NEW.fence_token > accepted THEN
        UPDATE mark SET token = NEW.fence_token WHERE resource = name;
    END IF;
    RETURN NEW;
END
$$;

