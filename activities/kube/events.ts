// Writes Kubernetes Events, which `kubectl describe` shows: a Warning for each change of lastError. In level mode,
// where only the plan writes the status, Events show faults and messages of actions.

import { createHash } from 'node:crypto'
import type { ErrorReport, Subject } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { resourcePath } from './resource-path.ts'
import { isAlreadyExists, KubeError } from './errors.ts'
import { withDeadline } from './client-with-deadline.ts'

const EVENTS = { apiVersion: 'v1', plural: 'events' }
// The API server's limit for an Event's message.
const MESSAGE_LIMIT = 1024
// Short, because Events only repeat other information.
export const EVENT_DEADLINE = { requestMs: 5000, totalMs: 5000 }

type EventDeps = Pick<Deps, 'kube' | 'log' | 'now'>

/** The object that an Event is about. */
export type Involved = Subject & { readonly apiVersion: string }

/**
 * Records a Warning on the subject. Repetitions for the same job (in level mode: run) and error are one Event. A failed
 * write is logged and has no other effect, because status or journal contain the same information.
 */
export async function recordWarning(
  deps: EventDeps,
  involved: Involved,
  job: string,
  error: ErrorReport,
): Promise<void> {
  const { reason, message, operation } = error
  await recordEvent(deps, involved, {
    type: 'Warning',
    reason,
    message,
    source: 'pawl',
    identity: [involved.uid, job, operation, reason, message],
  })
}

export interface KubeEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  /** Component that reports the Event. */
  readonly source: string
  /** Events with equal parts are one Event. */
  readonly identity: readonly string[]
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

/**
 * Records an Event on the subject. Errors of the API server are logged.
 *
 * @returns whether the Event exists, also from an earlier call.
 */
export async function recordEvent(deps: EventDeps, involved: Involved, toRecord: KubeEvent): Promise<boolean> {
  return (await writeEvent(deps, involved, toRecord)) !== 'unwritten'
}

/**
 * Like `recordEvent`. @returns 'known' when the Event existed; counters count only 'recorded'.
 */
export async function writeEvent(
  deps: EventDeps,
  involved: Involved,
  toRecord: KubeEvent,
): Promise<'recorded' | 'known' | 'unwritten'> {
  const { apiVersion, kind, name, uid } = involved
  const { annotations } = toRecord
  const hash = identityHash(toRecord.identity)
  const at = deps.now().toISOString()
  // Events on cluster-scoped objects are in this namespace.
  const namespace = involved.namespace === '' ? 'default' : involved.namespace
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${namePrefix(name)}.${hash.slice(0, 16)}`, namespace, ...(annotations && { annotations }) },
    involvedObject: { apiVersion, kind, ...(involved.namespace !== '' && { namespace }), name, uid },
    type: toRecord.type,
    reason: toRecord.reason,
    message: toRecord.message.slice(0, MESSAGE_LIMIT),
    source: { component: toRecord.source },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  }
  try {
    await withDeadline(deps.kube, EVENT_DEADLINE).request('POST', resourcePath(EVENTS, namespace), { body: event })
  } catch (failure) {
    if (!(failure instanceof KubeError)) throw failure
    if (isAlreadyExists(failure)) return 'known'
    deps.log.warn({ kind, namespace, name, err: failure }, 'the Event could not be written')
    return 'unwritten'
  }
  return 'recorded'
}

/** Hash of the parts that identify an Event. */
export function identityHash(identity: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex')
}

/** The part of the name that fits before the hash and may precede a dot. */
function namePrefix(name: string): string {
  return name.slice(0, 230).replace(/[^A-Za-z0-9]+$/, '')
}
