import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import javax.sql.DataSource;

/** A lease that PostgreSQL keeps, with its fencing token. Nothing renews it but {@link #renew}. */
public final class Lease implements AutoCloseable {

    /** SQLSTATEs of refused writes: start again from the beginning; and a bug in the program. */
    public static final String STALE_TOKEN = "LF001";
    public static final String TOKEN_REQUIRED = "LF002";

    /** What is done under a lease, in a transaction that commits behind it. */
    @FunctionalInterface
    public interface Work<T> {
        T run(Connection connection) throws SQLException;
    }

    private final DataSource database;
    private final String resource;
    private final String owner;
    private final long token;

    private Lease(DataSource database, String resource, String owner, long token) {
        this.database = database;
        this.resource = resource;
        this.owner = owner;
        this.token = token;
    }

    /** Takes the lease of a resource; empty while somebody else has it. */
    public static Optional<Lease> tryAcquire(DataSource database, String resource, Duration ttl)
            throws SQLException {
        String owner = UUID.randomUUID().toString();
        // In autocommit mode: a token may be used once it is committed.
        try (Connection connection = database.getConnection();
                PreparedStatement acquire = connection.prepareStatement(
                        "SELECT fence_acquire(?, ?, make_interval(secs => ?))")) {
            acquire.setString(1, resource);
            acquire.setString(2, owner);
            acquire.setDouble(3, seconds(ttl));
            try (ResultSet granted = acquire.executeQuery()) {
                granted.next();
                long token = granted.getLong(1);
                return granted.wasNull()
                        ? Optional.empty()
                        : Optional.of(new Lease(database, resource, owner, token));
            }
        }
    }

    public long token() {
        return token;
    }

    /** Makes the lease end so long from now; false where it was over, which is final. */
    public boolean renew(Duration ttl) throws SQLException {
        try (Connection connection = database.getConnection();
                PreparedStatement renew = connection.prepareStatement(
                        "SELECT fence_renew(?, ?, ?, make_interval(secs => ?))")) {
            name(renew);
            renew.setDouble(4, seconds(ttl));
            return isTrue(renew);
        }
    }

    /** Ends the lease, where it is not over already. */
    @Override
    public void close() throws SQLException {
        try (Connection connection = database.getConnection();
                PreparedStatement release =
                        connection.prepareStatement("SELECT fence_release(?, ?, ?)")) {
            name(release);
            isTrue(release);
        }
    }

    /** Presents the token, does the work, and commits. What is read in it, no earlier holder changes. */
    public <T> T transaction(Work<T> work) throws SQLException {
        try (Connection connection = database.getConnection()) {
            connection.setAutoCommit(false);
            try {
                present(connection);
                T result = work.run(connection);
                // Where the error of a statement was swallowed, the server would answer the COMMIT by
                // rolling back, and the driver may not tell. This statement fails then.
                present(connection);
                connection.commit();
                connection.setAutoCommit(true); // as a pool wants it back
                return result;
            } catch (SQLException | RuntimeException | Error e) {
                rollBack(connection, e);
                throw e;
            }
        }
    }

    private void present(Connection connection) throws SQLException {
        try (PreparedStatement check = connection.prepareStatement("SELECT fence_check(?, ?, ?)")) {
            check.setString(1, resource);
            check.setLong(2, token);
            check.setString(3, owner);
            isTrue(check);
        }
    }

    private static void rollBack(Connection connection, Throwable why) {
        try {
            connection.rollback();
            connection.setAutoCommit(true);
        } catch (SQLException e) {
            why.addSuppressed(e);
        }
    }

    private void name(PreparedStatement statement) throws SQLException {
        statement.setString(1, resource);
        statement.setString(2, owner);
        statement.setLong(3, token);
    }

    private static boolean isTrue(PreparedStatement statement) throws SQLException {
        try (ResultSet answer = statement.executeQuery()) {
            return answer.next() && answer.getBoolean(1);
        }
    }

    private static double seconds(Duration ttl) {
        return ttl.toNanos() / 1e9;
    }
}
