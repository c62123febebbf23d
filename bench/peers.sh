# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between these files
# The ways of writing one row under a token that are compared: fencelock's, and what people write by hand.

attach_peer() { # VARIANT TABLE
    case $1 in
    mark_row) psql_quiet -c "SELECT fence_attach('$2', 'order:{id}', 'fence_token', 'mark=row')" ;;
    mark_resource) psql_quiet -c "SELECT fence_attach('$2', 'item:{id}')" ;;
    plpgsql_row | plpgsql_resource)
        psql_quiet -c "CREATE TRIGGER zz_guard BEFORE INSERT OR UPDATE OR DELETE ON $2 FOR EACH ROW EXECUTE FUNCTION $1_guard()"
        ;;
    esac
}

# For pgbench, with :id and :token.
peer_transaction() { # VARIANT TABLE
    local write="UPDATE $2 SET payload = payload + 1, fence_token = :token WHERE id = :id"
    case $1 in
    hand_written) echo "$write AND fence_token <= :token;" ;;
    for_update)
        echo "BEGIN;"
        echo "SELECT fence_token FROM $2 WHERE id = :id FOR UPDATE;"
        echo "$write;"
        echo "COMMIT;"
        ;;
    *) echo "$write;" ;;
    esac
}
