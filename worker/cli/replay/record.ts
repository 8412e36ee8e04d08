// Replays runs with the workflows of a build, on no server at all, and keeps what they tell of themselves. Nothing is called: what activities answered stands
// in the history. Source: docs/adr/0050.
//
//   R1. A run is replayed under its own ID: what is decided by it is decided as then.
//   R2. What a run told before it went another way than its history is kept: that is where the two part.

import proto from '@temporalio/proto'
import { DefaultLogger, type InjectedSinks, type ReplayWorkerOptions, Runtime, Worker } from '@temporalio/worker'

import { REPLAY_QUEUE, type Recorded, type RecordingSinks, type RunSinks } from '../../../workflows/kit/index.ts'
import { misfitIn } from '../../../activities/run/stuck-reports.ts'
import { payloadConverter } from '../../reconciler/payload-codec.ts'
import { replayable } from './history-events.ts'
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
  quieten()
  let entries: Recorded[] = []
  const options: ReplayWorkerOptions = {
    ...payloadConverter(payloadKeyPath),
    workflowBundle: { code },
    replayName: REPLAY_QUEUE,
    sinks: listening((entry) => {
      entries.push(entry)
    }),
  }
  const pushed = histories(runs)
  for await (const { workflowId, error } of Worker.runReplayHistories(options, pushed)) {
    yield { workflowId, entries, ...(error !== undefined && { error: replayError(error.message) }) }
    entries = []
  }
}

/** R1 */
async function* histories(runs: AsyncIterable<RecordedRun> | Iterable<RecordedRun>) {
  for await (const { workflowId, events } of runs)
    yield { workflowId, history: History.fromObject({ events: replayable(events) }) }
}

function listening(heard: (entry: Recorded) => void): InjectedSinks<RecordingSinks & RunSinks> {
  return {
    replay: { told: { fn: (_info, entry) => heard(JSON.parse(entry) as Recorded), callDuringReplay: true } },
    // What a run tells its worker of a bug is in its recording, too.
    runs: { threw: { fn: () => undefined, callDuringReplay: true } },
  }
}

const FAILURE = /message: "((?:[^"\\]|\\.)+)"/

/** The sentence in what the SDK says. */
function replayError(message: string): string {
  return misfitIn(message.includes('[TMPRL1100]') ? message : (FAILURE.exec(message)?.[1] ?? message))
}

let isQuiet = false

/** The SDK's own lines are no answer; what went wrong comes back as the error of a replay. */
function quieten(): void {
  if (isQuiet) return
  isQuiet = true
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { forward: {}, filter: 'OFF' } },
  })
}
