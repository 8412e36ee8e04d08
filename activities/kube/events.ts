// Kubernetes Events: what `kubectl describe` shows of an error. Source: spec/landscaper.md 2.9, 5.2: a Warning for each change of lastError.

import { createHash } from 'node:crypto'
import type { ErrorReport, Subject } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { resourcePath } from './client.ts'
import { isAlreadyExists, KubeError } from './errors.ts'
import { watchedKind } from './kinds.ts'

const EVENTS = { apiVersion: 'v1', plural: 'events' }
// The API server's limit for an Event's message.
const MESSAGE_LIMIT = 1024

/**
 * Records a Warning on the subject. Repeated for the same job and error it is one Event. An Event that cannot be written is logged and
 * changes nothing else: it only repeats what the status says.
 */
export async function recordWarning(deps: Deps, subject: Subject, jobID: string, error: ErrorReport): Promise<void> {
  const { kind, namespace, name, uid } = subject
  const hash = createHash('sha256')
    .update(JSON.stringify([uid, jobID, error.operation, error.reason, error.message]))
    .digest('hex')
  const at = deps.now().toISOString()
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${hash.slice(0, 16)}`, namespace },
    involvedObject: { apiVersion: watchedKind(kind).apiVersion, kind, namespace, name, uid },
    type: 'Warning',
    reason: error.reason,
    message: error.message.slice(0, MESSAGE_LIMIT),
    source: { component: 'pawl' },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  }
  try {
    await deps.kube.request('POST', resourcePath(EVENTS, namespace), { body: event })
  } catch (failure) {
    if (!(failure instanceof KubeError)) throw failure
    if (!isAlreadyExists(failure)) deps.log.warn({ kind, namespace, name, err: failure }, 'event could not be written')
  }
}
