-- One row for each job and day; each job's rows are written under the job's lock.
CREATE TABLE reports (job text, day date, orders bigint NOT NULL, PRIMARY KEY (job, day));
SELECT fence_attach('reports', 'job:{job}');
GRANT SELECT, INSERT, UPDATE ON reports TO shop;
