// All queries of users as one value, so that callers need not know whether a database or `pawl api` answers.
//
//   Q1. Arguments and answers are data: JSON values, times, and maps by uid. worker/api defines the wire format; the
//       names of these functions are part of it.
//   Q2. The types require an authorization rule in worker/api for every query.

import { awaitedByAll, eventsOf, lastEventsIn, runOf, wakeOf, writesOf } from './event-queries.ts'
import {
  childrenOf,
  followedKinds,
  jobsOf,
  listNames,
  listObjects,
  newestJobs,
  objectOf,
  objectsNamed,
} from './object-queries.ts'
import { eventsAt, exportedRows } from './exported-job.ts'
import type { Journal } from './reader.ts'
import { waitingOf } from './wake-queue.ts'

const READS = {
  followedKinds,
  listObjects,
  listNames,
  objectsNamed,
  objectOf,
  childrenOf,
  newestJobs,
  jobsOf,
  eventsOf,
  runOf,
  writesOf,
  wakeOf,
  awaitedByAll,
  lastEventsIn,
  waitingOf,
  exportedRows,
  eventsAt,
} as const

type Query<Read> = Read extends (journal: Journal, ...args: infer Args) => infer Answer
  ? (...args: Args) => Answer
  : never

export type QueryName = keyof typeof READS
export type JournalQueries = { readonly [Name in QueryName]: Query<(typeof READS)[Name]> }

/** The queries, answered by a database. */
export function queriesOf(journal: Journal): JournalQueries {
  const answers = Object.entries(READS).map(([name, read]) => {
    // The types of JournalQueries check the arguments.
    const ask = read as (journal: Journal, ...args: readonly unknown[]) => unknown
    return [name, (...args: readonly unknown[]) => ask(journal, ...args)]
  })
  return Object.fromEntries(answers) as JournalQueries
}
