// Replays runs with the workflows of a build, without a server, and records their decisions and calls. No activity is
// called: the history contains their answers. Source: docs/adr/0050.
//
//   R1. A run is replayed under its own workflow ID, because decisions may depend on it.
//   R2. Entries before a nondeterminism error are kept, because they show where the build diverges.
//   R3. A replay ends: each run has a time limit, and runs whose replay would not end are not started.

import proto from '@temporalio/proto'
import { DefaultLogger, type InjectedSinks, type ReplayWorkerOptions, Runtime, Worker } from '@temporalio/worker'

import { REPLAY_QUEUE, type ReplayEntry, type ReplaySinks, type RunSinks } from '../../../workflows/kit/index.ts'
import { nondeterminismIn } from '../../../activities/run/failure-reports.ts'
import { EXACT_PAYLOADS, dataConverterOptions, readPayloadKeys } from '../../reconciler/temporal/payload-codec.ts'
import { UsageError } from '../../server/usage-error.ts'
import { formatDuration } from '../query/format.ts'
import { replayable, replayObstacle, encryptionKeysIn } from './history-events.ts'
import type { RecordedRun } from './load.ts'

const { History } = proto.temporal.api.history.v1

/** The entries of one build for one history. */
export interface Recording {
  readonly workflowId: string
  readonly entries: readonly ReplayEntry[]
  /** Why the replay did not reach the end of the history. */
  readonly error?: string | undefined
  /** The advice for the user about the error; undefined if another build may replay the run. */
  readonly advice?: string | undefined
}

export interface RecordOptions {
  /** The workflow bundle, including the recording module. */
  readonly code: string
  /** File with the encryption keys of payloads. */
  readonly payloadKeyPath: string | undefined
  /** Time limit of the replay of each run in milliseconds; default: `DEFAULT_LIMIT_MS`. */
  readonly limitMs?: number | undefined
}

export const DEFAULT_LIMIT_MS = 60_000

/** Replays one run after the other. @throws an Error for the first run that exceeds the time limit. */
export async function* recordRuns(
  { code, payloadKeyPath, limitMs = DEFAULT_LIMIT_MS }: RecordOptions,
  runs: AsyncIterable<RecordedRun> | Iterable<RecordedRun>,
): AsyncGenerator<Recording> {
  silenceSdkLogs()
  let entries: ReplayEntry[] = []
  let omitted: Recording[] = []
  const options: ReplayWorkerOptions = {
    ...replayOptions({ code, payloadKeyPath }),
    replayName: REPLAY_QUEUE,
    sinks: recordingSinks((entry) => {
      entries.push(entry)
    }),
  }
  const limit = createTimeLimit(limitMs)
  const runHistories = histories(runs, payloadKeyPath, {
    onStart: limit.start,
    onObstacle: (one) => omitted.push(one),
  })
  const replay = Worker.runReplayHistories(options, runHistories)[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await Promise.race([replay.next(), limit.expired])
      limit.stop()
      // The replayer requests the next history after it has returned the result of the previous one.
      yield* omitted
      omitted = []
      if (next.done === true) return
      const { workflowId, error } = next.value
      yield { workflowId, entries, ...(error !== undefined && replayError(error.message)) }
      entries = []
    }
  } finally {
    limit.stop()
    // A replay that does not end would not return either.
    if (!limit.isExpired()) await replay.return?.()
  }
}

/** R3 */
function createTimeLimit(limitMs: number) {
  let timer: NodeJS.Timeout | undefined
  let expire: (error: Error) => void = () => undefined
  let isExpired = false
  const expired = new Promise<never>((_resolve, reject) => {
    expire = reject
  })
  expired.catch(() => undefined)
  const stop = () => clearTimeout(timer)
  const start = (workflowId: string) => {
    stop()
    timer = setTimeout(() => {
      isExpired = true
      expire(
        new Error(
          `run "${workflowId}": its replay did not end within ${formatDuration(limitMs)}; look for an endless loop in the controller, or set a longer --timeout`,
        ),
      )
    }, limitMs)
  }
  return { expired, start, stop, isExpired: () => isExpired }
}

/** Options of every replay. */
export function replayOptions({ code, payloadKeyPath }: RecordOptions): ReplayWorkerOptions {
  return {
    // Failures of the replay itself are not encrypted.
    dataConverter: {
      payloadConverterPath: EXACT_PAYLOADS,
      payloadCodecs: dataConverterOptions(payloadKeyPath).dataConverter.payloadCodecs ?? [],
    },
    workflowBundle: { code },
  }
}

interface RunListeners {
  /** Called when the replay of a run starts. */
  readonly onStart: (workflowId: string) => void
  /** Called for a run that is not replayed. */
  readonly onObstacle: (omitted: Recording) => void
}

/** R1, R3 */
async function* histories(
  runs: AsyncIterable<RecordedRun> | Iterable<RecordedRun>,
  payloadKeyPath: string | undefined,
  { onStart, onObstacle }: RunListeners,
) {
  for await (const { workflowId, events } of runs) {
    const obstacle = replayObstacle(events)
    if (obstacle !== undefined) {
      onObstacle({ workflowId, entries: [], ...obstacle })
      continue
    }
    requireKeys({ workflowId, events }, payloadKeyPath)
    onStart(workflowId)
    yield { workflowId, history: History.fromObject({ events: replayable(events) }) }
  }
}

/** @throws UsageError that names the missing key. */
export function requireKeys({ workflowId, events }: RecordedRun, payloadKeyPath: string | undefined): void {
  const known = payloadKeyPath === undefined ? [] : [...readPayloadKeys(payloadKeyPath).keys.keys()]
  const missing = encryptionKeysIn(events).find((name) => !known.includes(name))
  if (missing === undefined) return
  const found =
    payloadKeyPath === undefined
      ? 'no payload key is configured'
      : `--payload-key "${payloadKeyPath}" has only ${known.length === 1 ? 'key' : 'keys'} ${known.map((name) => `"${name}"`).join(', ')}`
  throw new UsageError(
    `run "${workflowId}": its payloads are encrypted with key "${missing}", but ${found}; set --payload-key or $PAWL_PAYLOAD_KEY as for the worker`,
  )
}

function recordingSinks(onEntry: (entry: ReplayEntry) => void): InjectedSinks<ReplaySinks & RunSinks> {
  return {
    replay: { told: { fn: (_info, entry) => onEntry(JSON.parse(entry) as ReplayEntry), callDuringReplay: true } },
    // Bugs that a run reports are in its recording as well.
    runs: { threw: { fn: () => undefined, callDuringReplay: true } },
  }
}

const FAILURE = /message: "((?:[^"\\]|\\.)+)"/

/** The SDK's error for a workflow that the bundle does not contain. */
const UNKNOWN_WORKFLOW = /workflow of type '([^']+)': no such function is exported/

/** The sentence inside the SDK's error message. */
export function replayError(message: string): Pick<Recording, 'error' | 'advice'> {
  const [, controller] = UNKNOWN_WORKFLOW.exec(message) ?? []
  if (controller !== undefined)
    return {
      error: `the run belongs to controller "${controller}", which this build does not have`,
      advice: 'pass the module of the controller with --controllers FILE, as for the worker',
    }
  return {
    error: nondeterminismIn(message.includes('[TMPRL1100]') ? message : (FAILURE.exec(message)?.[1] ?? message)),
  }
}

let isQuiet = false

/** Replay errors are returned, so the SDK's log lines are suppressed. */
export function silenceSdkLogs(): void {
  if (isQuiet) return
  isQuiet = true
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { forward: {}, filter: 'OFF' } },
  })
}
