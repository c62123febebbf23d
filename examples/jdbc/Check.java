import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Optional;
import org.postgresql.ds.PGSimpleDataSource;

/** Shows the recipe at work: two holders of one lease, the first of which stalls. */
public final class Check {

    private static final String RESOURCE = "order:1001";
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final PGSimpleDataSource DATABASE = new PGSimpleDataSource();
    private static int failed = 0;

    @FunctionalInterface
    private interface Action {
        void run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        DATABASE.setUrl(arguments[0]);
        DATABASE.setUser(arguments[1]);
        story();
        System.exit(failed == 0 ? 0 : 1);
    }

    private static void story() throws Exception {
        // The first holder sleeps from before its claim until after its lease.
        Lease first = acquire(Duration.ofMillis(1));
        try (Lease second = acquire(LONG)) {
            check("a later holder has a higher token", second.token() > first.token());
            check("a lease that is held is not given to another",
                    Lease.tryAcquire(DATABASE, RESOURCE, LONG).isEmpty());
            second.transaction(connection -> write(connection, "confirmed"));
            check("the good write is accepted", hasStatus("confirmed"));

            checkRefused("the stale write is refused", Lease.STALE_TOKEN,
                    () -> first.transaction(connection -> write(connection, "cancelled")));
            checkRefused("the forgotten token is refused", Lease.TOKEN_REQUIRED, () -> {
                try (Connection connection = DATABASE.getConnection()) {
                    write(connection, "cancelled");
                }
            });
            checkRefused("a refusal that was swallowed is not lost", "25P02",
                    () -> second.transaction(Check::swallow));
            check("the successor's write stands", hasStatus("confirmed"));
            check("a lease that is over is not renewed", !first.renew(LONG));
            check("a lease that is held is renewed", second.renew(LONG));

            first.close();
            check("closing a lost lease does not end its successor's",
                    Lease.tryAcquire(DATABASE, RESOURCE, LONG).isEmpty());
        }
        checkRefused("what work() throws rolls back", null, () -> {
            try (Lease third = acquire(LONG)) {
                third.transaction(connection -> {
                    write(connection, "lost");
                    throw new IllegalStateException("changed its mind");
                });
            }
        });
        check("nothing was written then", hasStatus("confirmed"));
    }

    /** Waits until the lease is free. */
    private static Lease acquire(Duration ttl) throws Exception {
        for (;;) {
            Optional<Lease> lease = Lease.tryAcquire(DATABASE, RESOURCE, ttl);
            if (lease.isPresent()) {
                return lease.get();
            }
            Thread.sleep(20);
        }
    }

    private static int write(Connection connection, String status) throws SQLException {
        try (PreparedStatement update =
                connection.prepareStatement("UPDATE orders SET status = ? WHERE id = 1001")) {
            update.setString(1, status);
            return update.executeUpdate();
        }
    }

    private static int swallow(Connection connection) throws SQLException {
        int written = write(connection, "packed");
        try (Statement other = connection.createStatement()) {
            other.executeUpdate("UPDATE orders SET status = 'packed' WHERE id = 1002");
        } catch (SQLException e) {
            // as a program does that believes that it knows better
        }
        return written;
    }

    private static boolean hasStatus(String status) throws SQLException {
        try (Connection connection = DATABASE.getConnection();
                ResultSet found = connection.createStatement().executeQuery(
                        "SELECT status FROM orders WHERE id = 1001")) {
            return found.next() && found.getString(1).equals(status);
        }
    }

    private static void check(String what, boolean good) {
        System.out.println((good ? "ok - " : "not ok - ") + what);
        failed += good ? 0 : 1;
    }

    /** Refused with this SQLSTATE, or by an exception of the program's own where that is null. */
    private static void checkRefused(String what, String sqlState, Action action) throws Exception {
        try {
            action.run();
            check(what, false);
        } catch (SQLException e) {
            System.out.println("# " + e.getMessage());
            check(what + ": " + sqlState, e.getSQLState().equals(sqlState));
        } catch (IllegalStateException e) {
            check(what, sqlState == null);
        }
    }
}
