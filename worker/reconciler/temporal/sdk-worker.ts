// The SDK's worker, with listeners for runs that cannot be replayed and runs that are onEviction from the cache. The SDK has no public API for that: the server
// sees only the first failed attempt, and later ones as time-outs.

import { ApplicationFailure } from '@temporalio/common'
import proto from '@temporalio/proto'
import { DefaultLogger, Runtime, Worker, type WorkerOptions } from '@temporalio/worker'

import type { Logger } from '../../server/log.ts'

const { EvictionReason } = proto.coresdk.workflow_activation.RemoveFromCache

/** Receives the run ID and the SDK's message. Must not throw. */
export type NondeterminismListener = (runID: string, message: string) => void

interface Eviction {
  readonly runId: string
  readonly evictJob: { readonly reason?: number | null; readonly message?: string | null }
}

/** Functions that receive the ID of a run. They must not throw. */
export interface RunListeners {
  /** The SDK cannot replay the run; with its message. */
  readonly onNondeterminism: NondeterminismListener
  /** The SDK stopped the run's code after `isolateExecutionTimeout`, which is 5 s. */
  readonly onEndlessCode?: (runID: string) => void
  /** The SDK removed the run from its cache, because the cache is full. */
  readonly onEviction?: (runID: string) => void
}

// The message of `node:vm`.
const TIMED_OUT = 'Script execution timed out'

class ListeningWorker extends Worker {
  listen({ onNondeterminism, onEndlessCode, onEviction }: RunListeners): this {
    // The SDK's internal emitter, which its own replayer uses. A test on a real server detects a change.
    this.evictionsEmitter.on('eviction', ({ runId, evictJob: { reason, message } }: Eviction) => {
      if (reason === EvictionReason.NONDETERMINISM) onNondeterminism(runId, message ?? '')
      if (reason === EvictionReason.LANG_FAIL && message?.includes(TIMED_OUT) === true) onEndlessCode?.(runId)
      if (reason === EvictionReason.CACHE_FULL) onEviction?.(runId)
    })
    return this
  }
}

/** Same as `Worker.create`. */
export async function createWorker(options: WorkerOptions, listeners: RunListeners): Promise<Worker> {
  const worker = await ListeningWorker.create(options)
  if (!(worker instanceof ListeningWorker))
    throw new Error('the SDK created a Worker of another class; expected the requested class')
  return worker.listen(listeners)
}

// The log of Temporal's SDK, with Pawl's field names. Its info lines become debug lines. Log lines of controllers' actions and activities (`pass.log`,
// `context.log`) arrive here, too, and keep their level.

/** Call it once per process, before the worker is created. */
export function installTemporalLogger(log: Logger): void {
  Runtime.install({
    logger: new DefaultLogger(log.isLevelEnabled('debug') ? 'DEBUG' : 'INFO', ({ level, message, meta }) => {
      if (isControllerLog(meta)) {
        log[LEVELS[level]](controllerFields(meta), message)
        return
      }
      const fields = temporalFields(meta)
      if (level === 'DEBUG' || level === 'TRACE') return
      if (level === 'ERROR') log.error(fields, message)
      else if (level === 'WARN' && !isExpectedFailure(meta?.['error'])) log.warn(fields, message)
      else log.debug(fields, message)
    }),
    shutdownSignals: [],
  })
}

/**
 * Whether the error only ends the run of a failed job. The SDK logs message and stack of such an error, and this one has no stack
 * (workflows/kit/run/loop/loop.ts, L4).
 */
export function isExpectedFailure(error: unknown): boolean {
  return error instanceof Error && error.stack === ''
}

/** The fields of an SDK log line. Errors have type and message; unexpected errors also have the stack. */
export function temporalFields({ error, ...fields }: Readonly<Record<string, unknown>> = {}): object {
  if (!(error instanceof Error)) return { ...fields, ...(error !== undefined && { error }), part: 'temporal' }
  const { message, stack } = error
  const failure =
    error instanceof ApplicationFailure ? { type: error.type, message } : { type: error.name, message, stack }
  return { ...fields, error: failure, part: 'temporal' }
}

const LEVELS = { TRACE: 'debug', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const

/** Whether a controller wrote the log line, not the SDK. */
export function isControllerLog(meta: Readonly<Record<string, unknown>> | undefined): boolean {
  return meta?.['sdkComponent'] === 'workflow' || meta?.['sdkComponent'] === 'activity'
}

// Fields that the SDK adds to each line and that repeat the controller, the object or the action. Its namespace is Temporal's, not the object's.
const SDK_FIELDS: ReadonlySet<string> = new Set([
  ...['sdkComponent', 'namespace', 'taskQueue', 'taskToken', 'isLocal', 'activityId', 'attempt'],
  ...['workflowType', 'workflowRunId', 'runId', 'activityType'],
])

/** The fields of the controller's call, and the run ID. */
export function controllerFields(meta: Readonly<Record<string, unknown>> = {}): object {
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !SDK_FIELDS.has(key)))
}
