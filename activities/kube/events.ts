// Kubernetes Events: what `kubectl describe` shows of an error: a Warning for each change of lastError.
// In level mode, where the plan alone writes the status, they are how `kubectl` shows a fault of any controller, and what its actions tell.

import { createHash } from 'node:crypto'
import type { ErrorReport, Subject } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { resourcePath } from './resource-path.ts'
import { isAlreadyExists, KubeError } from './errors.ts'
import { withDeadline } from './client-with-deadline.ts'

const EVENTS = { apiVersion: 'v1', plural: 'events' }
// The API server's limit for an Event's message.
const MESSAGE_LIMIT = 1024
// Nobody waits long for what only repeats something.
export const EVENT_DEADLINE = { requestMs: 5000, totalMs: 5000 }

type EventDeps = Pick<Deps, 'kube' | 'log' | 'now'>

/** The object that an Event is about. */
export type Involved = Subject & { readonly apiVersion: string }

/**
 * Records a Warning on the subject. Repeated for the same job, or the same run in level mode, and error it is one Event. An Event that cannot
 * be written is logged and changes nothing else: it only repeats what status or journal say.
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
  /** Who says so. */
  readonly source: string
  /** What is said once: events with the same parts are one. */
  readonly identity: readonly string[]
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

/** Records an Event on the subject. @returns whether it is there, also from before. @throws nothing that the API server says: that is logged. */
export async function recordEvent(deps: EventDeps, involved: Involved, told: KubeEvent): Promise<boolean> {
  return (await writeEvent(deps, involved, told)) !== 'unwritten'
}

/** The same. @returns 'known' when it was there before: what is counted is counted with 'recorded', whoever says it again. */
export async function writeEvent(
  deps: EventDeps,
  involved: Involved,
  told: KubeEvent,
): Promise<'recorded' | 'known' | 'unwritten'> {
  const { apiVersion, kind, name, uid } = involved
  const { annotations } = told
  const hash = identityHash(told.identity)
  const at = deps.now().toISOString()
  // Events on objects without namespace are in this one.
  const namespace = involved.namespace === '' ? 'default' : involved.namespace
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${namePrefix(name)}.${hash.slice(0, 16)}`, namespace, ...(annotations && { annotations }) },
    involvedObject: { apiVersion, kind, ...(involved.namespace !== '' && { namespace }), name, uid },
    type: told.type,
    reason: told.reason,
    message: told.message.slice(0, MESSAGE_LIMIT),
    source: { component: told.source },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  }
  try {
    await withDeadline(deps.kube, EVENT_DEADLINE).request('POST', resourcePath(EVENTS, namespace), { body: event })
  } catch (failure) {
    if (!(failure instanceof KubeError)) throw failure
    if (isAlreadyExists(failure)) return 'known'
    deps.log.warn({ kind, namespace, name, err: failure }, 'event could not be written')
    return 'unwritten'
  }
  return 'recorded'
}

/** Events with the same parts are one. */
export function identityHash(identity: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex')
}

/** What fits before the hash, and may stand before a dot. */
function namePrefix(name: string): string {
  return name.slice(0, 230).replace(/[^A-Za-z0-9]+$/, '')
}
