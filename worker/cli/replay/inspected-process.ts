// The process in which a run is replayed under a debugger. Who starts it, and what it keeps to: inspect.ts.

import inspector from 'node:inspector'

import { Worker } from '@temporalio/worker'
import proto from '@temporalio/proto'

import { silenceSdkLogs, type RecordOptions, replayError, replayOptions } from './record.ts'

/** What the process is given. */
export interface RunsToInspect extends RecordOptions {
  /** Of one job, the earliest first; each history is a `History` of Temporal, encoded. */
  readonly runs: readonly { readonly workflowId: string; readonly history: Uint8Array }[]
  readonly host: string
  readonly port: number
}

/** What it tells. */
export type InspectorMessage =
  | { readonly told: 'listening'; readonly url: string }
  | { readonly told: 'failed'; readonly why: string }
  | { readonly told: 'ended'; readonly problem: string | undefined }

const { History } = proto.temporal.api.history.v1

process.title = 'pawl replay'
process.once('message', (given: RunsToInspect) => {
  void main(given)
})
// Nobody is left to be told.
process.once('disconnect', () => process.exit(1))

async function main(given: RunsToInspect): Promise<void> {
  try {
    await openInspector(given)
    await sendMessage({ told: 'ended', problem: await replay(given) })
  } catch (error) {
    await sendMessage({ told: 'failed', why: error instanceof Error ? error.message : String(error) })
  }
  // Else the process would wait until the debugger goes.
  inspector.close()
  process.exit()
}

/** Returns when a debugger has attached. */
async function openInspector({ host, port }: RunsToInspect): Promise<void> {
  inspector.open(port, host)
  const url = inspector.url()
  if (url === undefined)
    throw new Error(`the debugger's port ${port} of ${host} cannot be opened; --inspect=0 takes one that is free`)
  await sendMessage({ told: 'listening', url })
  inspector.waitForDebugger()
}

/** @returns how the first that went wrong did. */
async function replay(given: RunsToInspect): Promise<string | undefined> {
  silenceSdkLogs()
  const runs = given.runs.map(({ workflowId, history }) => ({ workflowId, history: History.decode(history) }))
  for await (const { error } of Worker.runReplayHistories(replayOptions(given), pausedBeforeFirst(runs)))
    if (error !== undefined) return replayError(error.message)
  return undefined
}

type Histories = readonly { readonly workflowId: string; readonly history: proto.temporal.api.history.v1.History }[]

/** The replayer has compiled the workflows when it asks for a history, so that a debugger knows their sources. */
function* pausedBeforeFirst(histories: Histories): Iterable<Histories[number]> {
  // Set breakpoints in the sources of workflows/, then resume.
  debugger
  yield* histories
}

/** Resolves when it is sent: nothing is while the process is paused. */
async function sendMessage(message: InspectorMessage): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.send?.(message, undefined, undefined, (error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}
