-- What is to happen outside of the database is written down in it, in the transaction that decides it. The guard
-- refuses a message without a token, or with a stale one, and fills in the column fence_token.
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(), -- ids repeat after a restore, these do not
    resource text NOT NULL,
    body jsonb NOT NULL
);
SELECT fence_attach('outbox', '{resource}');

-- Kept apart, since the relay has no token to change the message itself with.
CREATE TABLE delivery (
    message bigint PRIMARY KEY REFERENCES outbox,
    answer int NOT NULL,
    delivered_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT ON outbox, delivery TO shop;
