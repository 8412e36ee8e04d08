// The child process that replays runs under a debugger. inspect.ts starts it and lists its rules.

import inspector from 'node:inspector'

import { Worker } from '@temporalio/worker'
import proto from '@temporalio/proto'

import { silenceSdkLogs, type RecordOptions, replayError, replayOptions } from './record.ts'

/** The input of the process. */
export interface RunsToInspect extends RecordOptions {
  /** The runs of one job, the earliest first; each history is an encoded `History` of Temporal. */
  readonly runs: readonly { readonly workflowId: string; readonly history: Uint8Array }[]
  readonly host: string
  readonly port: number
}

/** The messages of the process. */
export type InspectorMessage =
  | { readonly told: 'listening'; readonly url: string }
  | { readonly told: 'failed'; readonly why: string }
  | { readonly told: 'ended'; readonly problem: string | undefined }

const { History } = proto.temporal.api.history.v1

process.title = 'pawl replay'
process.once('message', (given: RunsToInspect) => {
  void main(given)
})
// The parent process is gone.
process.once('disconnect', () => process.exit(1))

async function main(given: RunsToInspect): Promise<void> {
  try {
    await openInspector(given)
    await sendMessage({ told: 'ended', problem: await replay(given) })
  } catch (error) {
    await sendMessage({ told: 'failed', why: error instanceof Error ? error.message : String(error) })
  }
  // Otherwise the process would wait until the debugger disconnects.
  inspector.close()
  process.exit()
}

/** Returns after a debugger has attached. */
async function openInspector({ host, port }: RunsToInspect): Promise<void> {
  inspector.open(port, host)
  const url = inspector.url()
  if (url === undefined)
    throw new Error(
      `--inspect: port ${port} of ${host} cannot be opened; choose another port, or any free port with --inspect=0`,
    )
  await sendMessage({ told: 'listening', url })
  inspector.waitForDebugger()
}

/** @returns the error of the first run that failed. */
async function replay(given: RunsToInspect): Promise<string | undefined> {
  silenceSdkLogs()
  const runs = given.runs.map(({ workflowId, history }) => ({ workflowId, history: History.decode(history) }))
  for await (const { error } of Worker.runReplayHistories(replayOptions(given), pausedBeforeFirst(runs)))
    if (error !== undefined) {
      const { error: problem, advice } = replayError(error.message)
      return advice === undefined ? problem : `${problem ?? ''}; ${advice}`
    }
  return undefined
}

type Histories = readonly { readonly workflowId: string; readonly history: proto.temporal.api.history.v1.History }[]

/** The replayer requests a history after it compiled the workflows, so the debugger knows their sources. */
function* pausedBeforeFirst(histories: Histories): Iterable<Histories[number]> {
  // Set breakpoints in the sources of workflows/, then resume.
  debugger
  yield* histories
}

/** Resolves when the message is sent; a paused process sends nothing. */
async function sendMessage(message: InspectorMessage): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.send?.(message, undefined, undefined, (error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}
