// The wire format of the questions over HTTP: POST /v1/ask/<question> with a JSON object of named fields; the answer is
// {"answer": ...}. Times are ISO 8601 texts, maps are objects by uid, absent values are null. docs/reference/api.md describes the
// format for users.

import { writeJson } from '../../workflows/kit/index.ts'
import { MOST_EVENTS } from '../../activities/journal/read/limits.ts'
import type { QueryName, JournalQueries } from '../../activities/journal/read/queries.ts'
import type { Input, JsonObject } from './input.ts'

export const ASK_PATH = '/v1/ask/'
/** Returns version, cluster, and the user as the server authenticated them. */
export const ABOUT_PATH = '/v1/about'
/** Header for the token where a proxy, such as the API server's, removes `authorization`. In lower case. */
export const TOKEN_HEADER = 'x-pawl-token'

/** The shape of an answer, followed by the names of the fields that contain times. */
type AnswerShape = readonly ['row' | 'rows' | 'row by uid' | 'rows by uid', ...times: readonly string[]]

interface WireFormat<Name extends QueryName> {
  /** Converts the arguments to the request's input. */
  readonly input: (...args: Parameters<JournalQueries[Name]>) => JsonObject
  /** Converts the input back to the arguments. @throws BadQuestion */
  readonly args: (input: Input) => Parameters<JournalQueries[Name]>
  readonly answer: AnswerShape
}

const OBJECT = ['updatedAt'] as const
const JOB = ['startedAt', 'finishedAt'] as const
const kindIn = (input: Input) => ({ group: input.text('group'), kind: input.text('kind') })

export const WIRE_FORMATS: { readonly [Name in QueryName]: WireFormat<Name> } = {
  followedKinds: { input: () => ({}), args: () => [], answer: ['rows'] },
  listObjects: {
    input: ({ group, kind }, namespace) => ({ group, kind, namespace }),
    args: (input) => [kindIn(input), input.maybeText('namespace')],
    answer: ['rows', ...OBJECT],
  },
  listNames: {
    input: ({ group, kind }, namespace) => ({ group, kind, namespace }),
    args: (input) => [kindIn(input), input.maybeText('namespace')],
    answer: ['rows'],
  },
  objectsNamed: {
    input: ({ group, kind, namespace, name }) => ({ group, kind, namespace, name }),
    args: (input) => [{ ...kindIn(input), namespace: input.text('namespace'), name: input.text('name') }],
    answer: ['rows', ...OBJECT],
  },
  objectOf: {
    input: (uid) => ({ uid }),
    args: (input) => [input.text('uid')],
    answer: ['row', ...OBJECT],
  },
  childrenOf: {
    input: (owners, since) => ({ owners: owners.map(({ uid }) => uid), since }),
    // Only the uid is sent; the server reads the other fields from the journal (J1).
    args: (input) => [
      input.texts('owners').map((uid) => ({ uid, group: '', kind: '', namespace: '', name: '' })),
      input.time('since'),
    ],
    answer: ['rows', ...OBJECT],
  },
  newestJobs: {
    input: (uids, { from, to } = {}) => ({ uids, from, to }),
    args: (input) => [input.texts('uids'), times(input.maybeTime('from'), input.maybeTime('to'))],
    answer: ['row by uid', ...JOB],
  },
  jobsOf: {
    input: (uid, { jobID, workflowID } = {}) => ({ uid, jobID, workflowID }),
    args: (input) => {
      const [jobID, workflowID] = [input.maybeText('jobID'), input.maybeText('workflowID')]
      return [input.text('uid'), { jobID, ...(workflowID !== undefined && { workflowID }) }]
    },
    answer: ['rows', ...JOB],
  },
  eventsOf: {
    input: (uid, most) => ({ uid, most }),
    args: (input) => [input.text('uid'), input.maybeCount('most', MOST_EVENTS)],
    answer: ['rows', 'at'],
  },
  runOf: {
    input: (workflowID) => ({ workflowID }),
    args: (input) => [input.text('workflowID')],
    answer: ['row', 'startedAt'],
  },
  writesOf: {
    input: (workflowID, object) => ({ workflowID, object }),
    args: (input) => [input.text('workflowID'), input.maybeText('object')],
    answer: ['rows', 'at', 'answeredAt'],
  },
  wakeOf: {
    input: (controller, uid) => ({ controller, uid }),
    args: (input) => [input.text('controller'), input.text('uid')],
    answer: ['row', 'due'],
  },
  awaitedByAll: {
    input: (controllers, uids) => ({ controllers, uids }),
    args: (input) => [input.texts('controllers'), input.texts('uids')],
    answer: ['rows by uid', 'since'],
  },
  lastEventsIn: {
    input: (uids, { jobID, since }) => ({ uids, jobID, since }),
    args: (input) => [input.texts('uids'), { jobID: input.text('jobID'), since: input.time('since') }],
    answer: ['row by uid', 'at'],
  },
  waitingOf: {
    input: (controllers, uids) => ({ controllers, uids }),
    args: (input) => [input.texts('controllers'), input.texts('uids')],
    answer: ['row by uid', 'due'],
  },
  // Rows of tables as JSON, as in an exported file: times stay texts.
  exportedRows: {
    input: (workflowID, uid) => ({ workflowID, uid }),
    args: (input) => [input.text('workflowID'), input.text('uid')],
    answer: ['row'],
  },
  eventsAt: {
    input: (seqs, since) => ({ seqs, since }),
    args: (input) => [input.counts('seqs'), input.time('since')],
    answer: ['rows'],
  },
}

export function isQuestion(name: string): name is QueryName {
  return Object.hasOwn(WIRE_FORMATS, name)
}

function times(from: Date | undefined, to: Date | undefined) {
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}

/** The body of an answer. JSON turns times into texts. */
export function answerText(answer: unknown): string {
  return writeJson({
    answer: answer instanceof Map ? Object.fromEntries(answer as ReadonlyMap<string, unknown>) : (answer ?? null),
  })
}

/** Converts the body of an answer to the question's result type. @throws an Error if the body has another form. */
export function answerIn(name: QueryName, body: unknown): unknown {
  const [form, ...fields] = WIRE_FORMATS[name].answer
  const answer = recordIn(name, body)['answer'] ?? null
  const row = (value: unknown) => withTimes(recordIn(name, value), fields)
  const rows = (value: unknown) => listIn(name, value).map(row)
  switch (form) {
    case 'row':
      return answer === null ? undefined : row(answer)
    case 'rows':
      return rows(answer)
    case 'row by uid':
      return new Map(Object.entries(recordIn(name, answer)).map(([uid, value]) => [uid, row(value)]))
    case 'rows by uid':
      return new Map(Object.entries(recordIn(name, answer)).map(([uid, value]) => [uid, rows(value)]))
  }
}

export interface About {
  /** Version of Pawl. */
  readonly version: string
  /** The cluster whose journal the server reads. */
  readonly cluster: string
  /** The user as the API server knows them. */
  readonly username: string
  readonly groups: readonly string[]
  /** Clock of the server process. */
  readonly at: Date
}

/** @throws an Error if the body has another form. */
export function aboutIn(body: unknown): About {
  const { version, cluster, username, groups, at } = recordIn('about', recordIn('about', body)['answer'])
  const texts = listIn('about', groups).filter((group) => typeof group === 'string')
  return { version: text(version), cluster: text(cluster), username: text(username), groups: texts, at: time(at) }
}

function text(value: unknown): string {
  if (typeof value === 'string') return value
  throw new Error('the answer to about has no text where one is expected')
}

function time(value: unknown): Date {
  const found = new Date(text(value))
  if (!Number.isNaN(found.getTime())) return found
  throw new Error('the answer to about has no time where one is expected')
}

function withTimes(row: JsonObject, fields: readonly string[]): JsonObject {
  const found = fields.flatMap((field) => {
    const value = row[field]
    return typeof value === 'string' ? [[field, new Date(value)] as const] : []
  })
  return { ...row, ...Object.fromEntries(found) }
}

function recordIn(name: QueryName | 'about', value: unknown): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  throw new Error(`the answer to ${name} has no object where one is expected`)
}

function listIn(name: QueryName | 'about', value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new Error(`the answer to ${name} has no list where one is expected`)
}
