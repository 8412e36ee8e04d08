// Row limits of queries. They are separate from the queries, so that printing a limit does not load the database
// client.

/** Maximum number of listed objects of a kind, and of children of one level. */
export const MOST_LISTED = 10_000
/** Maximum number of events of one object. */
export const MOST_EVENTS = 500
/** Maximum number of writes of one run. */
export const MOST_WRITES = 200
/** Maximum number of counted wakes that come before a wake. */
export const MOST_AHEAD = 1000
