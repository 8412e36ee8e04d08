// A worker of Temporal that tells when a run cannot be replayed by its code. The SDK has no other way to hear of it in the process where it happens:
// the server is told of the first try only, and of others nothing but that they took too long.

import { ApplicationFailure } from '@temporalio/common'
import proto from '@temporalio/proto'
import { DefaultLogger, Runtime, Worker, type WorkerOptions } from '@temporalio/worker'

import type { Logger } from '../../server/log.ts'

const { EvictionReason } = proto.coresdk.workflow_activation.RemoveFromCache

/** Told of the run, and of what Temporal says of it. Must not throw. */
export type Misfits = (runID: string, message: string) => void

interface Eviction {
  readonly runId: string
  readonly evictJob: { readonly reason?: number | null; readonly message?: string | null }
}

/** Told of a run that had to make room for others in memory. Must not throw. */
export type Evicted = (runID: string) => void

class TellingWorker extends Worker {
  listen(misfits: Misfits, evicted: Evicted): this {
    // Of the SDK, which finds out by it how a replay ended. A test on a real server sees whether it is still so.
    this.evictionsEmitter.on('eviction', ({ runId, evictJob: { reason, message } }: Eviction) => {
      if (reason === EvictionReason.NONDETERMINISM) misfits(runId, message ?? '')
      if (reason === EvictionReason.CACHE_FULL) evicted(runId)
    })
    return this
  }
}

/** As `Worker.create`. */
export async function createTellingWorker(
  options: WorkerOptions,
  misfits: Misfits,
  evicted: Evicted = () => undefined,
): Promise<Worker> {
  const worker = await TellingWorker.create(options)
  if (!(worker instanceof TellingWorker))
    throw new Error('the SDK made a Worker; expected one of the class that was asked')
  return worker.listen(misfits, evicted)
}

// Temporal's own log lines, as fields of ours. Its messages are many; what it calls info is debug to a user of Pawl. What actions and activities of
// controllers log (`pass.log`, `context.log`) comes the same way, and stays what its author calls it.

/** Once per process, before anything of the worker is made. */
export function logTemporal(log: Logger): void {
  Runtime.install({
    logger: new DefaultLogger(log.isLevelEnabled('debug') ? 'DEBUG' : 'INFO', ({ level, message, meta }) => {
      if (isOfController(meta)) {
        log[LEVELS[level]](controllerFields(meta), message)
        return
      }
      const fields = temporalFields(meta)
      if (level === 'DEBUG' || level === 'TRACE') return
      if (level === 'ERROR') log.error(fields, message)
      else if (level === 'WARN' && !isMeant(meta?.['error'])) log.warn(fields, message)
      else log.debug(fields, message)
    }),
    shutdownSignals: [],
  })
}

/**
 * How the run of a job ended. What a thread of workflows logs of an error is its message and its stack, and who throws this one leaves no stack
 * (workflows/kit/run/loop/loop.ts, L4).
 */
export function isMeant(error: unknown): boolean {
  return error instanceof Error && error.stack === ''
}

/** The fields of one of its lines. An error is told by type and message, and one that nobody meant to throw by where it was thrown. */
export function temporalFields({ error, ...fields }: Readonly<Record<string, unknown>> = {}): object {
  if (!(error instanceof Error)) return { ...fields, ...(error !== undefined && { error }), part: 'temporal' }
  const { message, stack } = error
  const told =
    error instanceof ApplicationFailure ? { type: error.type, message } : { type: error.name, message, stack }
  return { ...fields, error: told, part: 'temporal' }
}

const LEVELS = { TRACE: 'debug', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const

/** Whether code of a controller has logged it, and not the SDK. */
export function isOfController(meta: Readonly<Record<string, unknown>> | undefined): boolean {
  return meta?.['sdkComponent'] === 'workflow' || meta?.['sdkComponent'] === 'activity'
}

// What Temporal adds to each line, and is no news beside the controller, the object and the action. Its namespace is not the object's.
const ADDED: ReadonlySet<string> = new Set([
  ...['sdkComponent', 'namespace', 'taskQueue', 'taskToken', 'isLocal', 'activityId', 'attempt'],
  ...['workflowType', 'workflowRunId', 'runId', 'activityType'],
])

/** The fields that the code has given, and the run's ID. */
export function controllerFields(meta: Readonly<Record<string, unknown>> = {}): object {
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !ADDED.has(key)))
}
