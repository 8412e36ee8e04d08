// Reads the state and the history of runs from Temporal, for the CLI. Loaded only when needed, because Temporal's
// client takes long to load.
//
// A workflow ID may have a chain of Temporal runs: each one continues the run before it as new and has its own run ID.

import { Connection } from '@temporalio/client'
import proto from '@temporalio/proto'

import { connectionOptions, type TemporalTarget } from '../server/temporal.ts'

/** The time limit of the connection and of each request. */
const MOST_MS = 15_000
/** Only stops an endless sequence of pages: Temporal's own limit of a history is lower. */
const MOST_EVENTS = 60_000
/** gRPC status code. */
const NOT_FOUND = 5

const { History } = proto.temporal.api.history.v1
type History = proto.temporal.api.history.v1.IHistory

/**
 * The workflows that are not running, by workflow ID, with their state in Temporal: the status of their latest run in
 * lower case, such as `completed`, or `not there` if Temporal has no such workflow.
 */
export async function missingRuns(
  target: TemporalTarget,
  workflowIDs: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  return await connected(target, async (connection) => {
    const missing = new Map<string, string>()
    for (const workflowId of workflowIDs) {
      const state = await stateOf(connection, target.namespace, workflowId)
      if (state !== 'running') missing.set(workflowId, state)
    }
    return missing
  })
}

async function stateOf(connection: Connection, namespace: string, workflowId: string): Promise<string> {
  try {
    const execution = { workflowId }
    const { workflowExecutionInfo } = await inTime(
      connection,
      async () => await connection.workflowService.describeWorkflowExecution({ namespace, execution }),
    )
    const status = workflowExecutionInfo?.status ?? 0
    const name = proto.temporal.api.enums.v1.WorkflowExecutionStatus[status] ?? ''
    return name.replace('WORKFLOW_EXECUTION_STATUS_', '').toLowerCase()
  } catch (error) {
    if (isNotFound(error)) return 'not there'
    throw error
  }
}

/**
 * The histories of the latest run with this workflow ID and of the runs before it (continue-as-new), the earliest
 * first. Earlier runs are absent if Temporal's retention has deleted them, or if the chain is longer than MOST_RUNS.
 *
 * @param runID the run to read instead of the latest one.
 * @returns no runs if Temporal no longer has the run.
 */
export async function fetchRun(
  target: TemporalTarget,
  workflowId: string,
  runID?: string,
): Promise<readonly History[]> {
  return await connected(target, async (connection) => await fetchChain(connection, target, workflowId, runID))
}

/** Reads the chains of several workflow IDs like `fetchRun`, one after the other, with one connection. */
export async function* fetchRuns(
  target: TemporalTarget,
  workflowIDs: readonly string[],
): AsyncGenerator<{ readonly workflowId: string; readonly runs: readonly History[] }> {
  const connection = await connect(target)
  try {
    for (const workflowId of workflowIDs) yield { workflowId, runs: await fetchChain(connection, target, workflowId) }
  } finally {
    await connection.close()
  }
}

/** The latest runs of a chain of continue-as-new runs that are read. */
const MOST_RUNS = 20

async function fetchChain(
  connection: Connection,
  target: TemporalTarget,
  workflowId: string,
  latest?: string,
): Promise<readonly History[]> {
  const found: History[] = []
  let runId = latest
  do {
    const execution = runId === undefined ? { workflowId } : { workflowId, runId }
    const events = await allEvents(connection, target, execution).catch((error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    })
    if (events === undefined) break
    const started = events[0]?.workflowExecutionStartedEventAttributes
    found.unshift({ events })
    runId = started?.continuedExecutionRunId ?? ''
  } while (runId !== '' && found.length < MOST_RUNS)
  return found
}

type Events = NonNullable<History['events']>

async function allEvents(
  connection: Connection,
  { namespace }: TemporalTarget,
  execution: { readonly workflowId: string; readonly runId?: string },
): Promise<Events> {
  const events: Events = []
  let nextPageToken: Uint8Array | undefined
  do {
    const page = { namespace, execution, ...(nextPageToken !== undefined && { nextPageToken }) }
    const call = async () => await connection.workflowService.getWorkflowExecutionHistory(page)
    const answer = await inTime(connection, call)
    events.push(...(answer.history?.events ?? []))
    nextPageToken = answer.nextPageToken
  } while (nextPageToken.length > 0 && events.length < MOST_EVENTS)
  return events
}

/** The history as JSON: bytes in base64, 64-bit numbers as texts. */
export function historyJson({ events = [] }: History): readonly Readonly<Record<string, unknown>>[] {
  const plain = History.toObject(History.fromObject({ events }), { longs: String, enums: String, bytes: String })
  return (plain as { events?: Record<string, unknown>[] }).events ?? []
}

async function connected<Answer>(
  target: TemporalTarget,
  use: (connection: Connection) => Promise<Answer>,
): Promise<Answer> {
  const connection = await connect(target)
  try {
    return await use(connection)
  } finally {
    await connection.close()
  }
}

async function connect(target: TemporalTarget): Promise<Connection> {
  return await Connection.connect({ ...connectionOptions(target), connectTimeout: MOST_MS }).catch((error: unknown) => {
    const what = error instanceof Error ? error.message : String(error)
    throw new Error(`Temporal at ${target.address}: ${what}; check --temporal-address and the credentials`)
  })
}

/** Sends one request with its time limit. */
async function inTime<Answer>(connection: Connection, call: () => Promise<Answer>): Promise<Answer> {
  return await connection.withDeadline(Date.now() + MOST_MS, call)
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === NOT_FOUND
}
