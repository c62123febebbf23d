-- Presents the token of `fencelock run`, for the transaction that this is part of.
SELECT fence_check(:'resource', :'token') \g /dev/null
