// Replays runs with the workflows of a build, without a server, and records their decisions and calls. No activity is
// called: the history contains their answers. Source: docs/adr/0050.
//
//   R1. A run is replayed under its own workflow ID, because decisions may depend on it.
//   R2. Entries before a nondeterminism error are kept, because they show where the build diverges.

import proto from '@temporalio/proto'
import { DefaultLogger, type InjectedSinks, type ReplayWorkerOptions, Runtime, Worker } from '@temporalio/worker'

import { REPLAY_QUEUE, type ReplayEntry, type ReplaySinks, type RunSinks } from '../../../workflows/kit/index.ts'
import { nondeterminismIn } from '../../../activities/run/failure-reports.ts'
import { EXACT_PAYLOADS, dataConverterOptions, readPayloadKeys } from '../../reconciler/temporal/payload-codec.ts'
import { UsageError } from '../../server/usage-error.ts'
import { replayable, encryptionKeysIn } from './history-events.ts'
import type { RecordedRun } from './load.ts'

const { History } = proto.temporal.api.history.v1

/** The entries of one build for one history. */
export interface Recording {
  readonly workflowId: string
  readonly entries: readonly ReplayEntry[]
  /** Why the replay did not reach the end of the history. */
  readonly error?: string | undefined
}

export interface RecordOptions {
  /** The workflow bundle, including the recording module. */
  readonly code: string
  /** File with the encryption keys of payloads. */
  readonly payloadKeyPath: string | undefined
}

/** Replays one run after the other. */
export async function* recordRuns(
  { code, payloadKeyPath }: RecordOptions,
  runs: AsyncIterable<RecordedRun> | Iterable<RecordedRun>,
): AsyncGenerator<Recording> {
  silenceSdkLogs()
  let entries: ReplayEntry[] = []
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

/** The sentence inside the SDK's error message. */
export function replayError(message: string): string {
  return nondeterminismIn(message.includes('[TMPRL1100]') ? message : (FAILURE.exec(message)?.[1] ?? message))
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
