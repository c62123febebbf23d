-- A client whose COMMIT was not answered finds out by the receipt that it fetched before.

BEGIN;
SELECT fence_receipt() AS receipt, fence_receipt() = fence_receipt() AS one_a_transaction, fence_outcome(fence_receipt()) \gset
\echo :one_a_transaction :fence_outcome
COMMIT;
SELECT fence_outcome(:'receipt');

BEGIN;
SELECT fence_receipt() AS receipt \gset
ROLLBACK;
SELECT fence_outcome(:'receipt');

-- A savepoint's receipt is its transaction's.
BEGIN;
SAVEPOINT s;
SELECT fence_receipt() AS receipt \gset
ROLLBACK TO s;
COMMIT;
SELECT fence_outcome(:'receipt');

-- Another server's, or that of an earlier life of this one.
SELECT fence_outcome('1' || :'receipt'), fence_outcome(regexp_replace(:'receipt', '/\d+/', '/1/')), fence_outcome(regexp_replace(:'receipt', '/\d+/', '/0/'));

-- What is none.
SELECT fence_outcome(NULL);
SELECT fence_outcome('');
SELECT fence_outcome('1/2/3 ');
SELECT fence_outcome('a/b/c');
SELECT fence_outcome(' +1/ -2/-3');
SELECT fence_outcome('99999999999999999999999999/1/1');
SELECT regexp_replace(:'receipt', '\d+$', '9223372036854775807') AS of_the_future \gset
\set VERBOSITY sqlstate
SELECT fence_outcome(:'of_the_future');
\set VERBOSITY default

-- A transaction that may not write has none.
BEGIN READ ONLY;
SELECT fence_receipt();
ROLLBACK;
