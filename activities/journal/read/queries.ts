// All that people ask of the journal, as one value: who asks need not know whether a database answers, or `pawl api`.
//
//   Q1. What is asked and answered is data: values of JSON, times, and maps by uid. worker/api/wire.ts says how it travels.
//   Q2. A question added here travels only when it is judged (worker/api/authorized-questions.ts), which the types see to.

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

/** The questions, answered by a database. */
export function queriesOf(journal: Journal): JournalQueries {
  const answers = Object.entries(READS).map(([name, read]) => {
    // Each with the arguments that its own type says.
    const ask = read as (journal: Journal, ...args: readonly unknown[]) => unknown
    return [name, (...args: readonly unknown[]) => ask(journal, ...args)]
  })
  return Object.fromEntries(answers) as JournalQueries
}
