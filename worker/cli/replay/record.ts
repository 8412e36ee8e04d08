// Replays runs with the workflows of a build, on no server at all, and keeps what they tell of themselves. Nothing is called: what activities answered stands
// in the history. Source: docs/adr/0050.
//
//   R1. A run is replayed under its own ID: what is decided by it is decided as then.
//   R2. What a run told before it went another way than its history is kept: that is where the two part.

import proto from '@temporalio/proto'
import { DefaultLogger, type InjectedSinks, type ReplayWorkerOptions, Runtime, Worker } from '@temporalio/worker'

import { REPLAY_QUEUE, type Recorded, type RecordingSinks, type RunSinks } from '../../../workflows/kit/index.ts'
import { nondeterminismIn } from '../../../activities/run/failure-reports.ts'
import { EXACT_PAYLOADS, payloadConverter, readPayloadKeys } from '../../reconciler/temporal/payload-codec.ts'
import { UsageError } from '../../server/usage-error.ts'
import { replayable, encryptionKeysIn } from './history-events.ts'
import type { RecordedRun } from './load.ts'

const { History } = proto.temporal.api.history.v1

/** What one build does over a history. */
export interface Recording {
  readonly workflowId: string
  readonly entries: readonly Recorded[]
  /** Why it could not be replayed to its end. */
  readonly error?: string | undefined
}

export interface RecordOptions {
  /** The bundle of the workflows, with what tells of them. */
  readonly code: string
  /** File of the keys by which payloads are sealed. */
  readonly payloadKeyPath: string | undefined
}

/** Replays one run after the other. */
export async function* recordRuns(
  { code, payloadKeyPath }: RecordOptions,
  runs: AsyncIterable<RecordedRun> | Iterable<RecordedRun>,
): AsyncGenerator<Recording> {
  silenceSdkLogs()
  let entries: Recorded[] = []
  const options: ReplayWorkerOptions = {
    ...replayOptions({ code, payloadKeyPath }),
    replayName: REPLAY_QUEUE,
    sinks: recordingSinks((entry) => {
      entries.push(entry)
    }),
  }
  const runHistories = histories(runs, payloadKeyPath)
  for await (const { workflowId, error } of Worker.runReplayHistories(options, runHistories)) {
    yield { workflowId, entries, ...(error !== undefined && { error: replayError(error.message) }) }
    entries = []
  }
}

/** What every replay is made with. */
export function replayOptions({ code, payloadKeyPath }: RecordOptions): ReplayWorkerOptions {
  return {
    // Without what seals failures: those of the replay itself are to be read.
    dataConverter: {
      payloadConverterPath: EXACT_PAYLOADS,
      payloadCodecs: payloadConverter(payloadKeyPath).dataConverter.payloadCodecs ?? [],
    },
    workflowBundle: { code },
  }
}

/** R1 */
async function* histories(
  runs: AsyncIterable<RecordedRun> | Iterable<RecordedRun>,
  payloadKeyPath: string | undefined,
) {
  for await (const { workflowId, events } of runs) {
    requireKeys({ workflowId, events }, payloadKeyPath)
    yield { workflowId, history: History.fromObject({ events: replayable(events) }) }
  }
}

/** @throws UsageError that names the key which is missing. */
export function requireKeys({ workflowId, events }: RecordedRun, payloadKeyPath: string | undefined): void {
  const known = payloadKeyPath === undefined ? [] : [...readPayloadKeys(payloadKeyPath).keys.keys()]
  const missing = encryptionKeysIn(events).find((name) => !known.includes(name))
  if (missing === undefined) return
  const found = payloadKeyPath === undefined ? 'no file of keys' : `${known.join(', ')} in ${payloadKeyPath}`
  throw new UsageError(
    `payloads of ${workflowId} are sealed by key ${missing}; found ${found}, expected that key in --payload-key or $PAWL_PAYLOAD_KEY, as the worker has it`,
  )
}

function recordingSinks(onEntry: (entry: Recorded) => void): InjectedSinks<RecordingSinks & RunSinks> {
  return {
    replay: { told: { fn: (_info, entry) => onEntry(JSON.parse(entry) as Recorded), callDuringReplay: true } },
    // What a run tells its worker of a bug is in its recording, too.
    runs: { threw: { fn: () => undefined, callDuringReplay: true } },
  }
}

const FAILURE = /message: "((?:[^"\\]|\\.)+)"/

/** The sentence in what the SDK says. */
export function replayError(message: string): string {
  return nondeterminismIn(message.includes('[TMPRL1100]') ? message : (FAILURE.exec(message)?.[1] ?? message))
}

let isQuiet = false

/** The SDK's own lines are no answer; what went wrong comes back as the error of a replay. */
export function silenceSdkLogs(): void {
  if (isQuiet) return
  isQuiet = true
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { forward: {}, filter: 'OFF' } },
  })
}
