-- What every recipe starts from: a guarded table, and the role of an application that may present and
-- issue tokens. Run by a superuser.
CREATE EXTENSION fencelock;

CREATE TABLE orders (id bigint PRIMARY KEY, status text NOT NULL);
INSERT INTO orders VALUES (1001, 'new'), (1002, 'new');
SELECT fence_attach('orders', 'order:{id}');

GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO shop;
SELECT fence_grant('shop');
