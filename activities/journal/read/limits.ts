// How much a question reads at most. Apart from the questions: who tells people of a limit need not load a database's client.

/** So many objects of a kind are listed, and so many children of a level are looked at. */
export const MOST_LISTED = 10_000
/** Of one object. */
export const MOST_EVENTS = 500
/** Of one run. */
export const MOST_WRITES = 200
/** No more that wait for a turn are counted before one. */
export const MOST_AHEAD = 1000
