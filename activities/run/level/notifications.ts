// Notifications of Events to receivers outside of the cluster: starts a workflow for each receiver, and has the activities of these workflows.

import { createHash } from 'node:crypto'
import { cancellationSignal, Context } from '@temporalio/activity'

import {
  ActivityError,
  type By,
  type EventInput,
  isObjectName,
  type LevelTarget,
  type NotificationActivities,
  NOTIFICATION_RUN,
  type Subject,
} from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { KubeError, retryableFailure } from '../../kube/errors.ts'
import { identityHash, EVENT_DEADLINE, writeEvent } from '../../kube/events.ts'
import { withDeadline } from '../../kube/client-with-deadline.ts'
import { readObject } from '../../kube/read-family.ts'
import { controllerOf } from '../controllers.ts'
import type { Notifier, Receiver, NotifiedEvent } from '../notifier.ts'
import { followedKind } from './kinds.ts'
import { isCancellation, toFailure } from './own-calls.ts'

const MAX_REMEMBERED = 10_000
// Shorter than SILENCE_MS of workflows/kit/run/loop/run-notification.ts.
const HEARTBEAT_MS = 2500

interface EventToNotify {
  readonly by: Pick<By, 'workflowID' | 'controller'>
  readonly subject: Subject
  readonly target: LevelTarget
  readonly event: Pick<EventInput['event'], 'type' | 'reason' | 'message'>
  /** Identity of the Event (kube/events.ts). */
  readonly identity: readonly string[]
}

/** Starts the notifications of an Event about the subject. Idempotent. @throws failures of Temporal. */
export async function startNotifications(
  deps: Deps,
  { by, subject, target, event, identity }: EventToNotify,
): Promise<void> {
  const controller = controllerOf(by)
  const notifiers = deps.notices?.of(controller)
  if (deps.notices === undefined || notifiers === undefined || notifiers.all.length === 0) return
  const { known } = deps.notices
  const hash = identityHash(identity).slice(0, 32)
  if (known.has(hash)) return
  const notified = { controller, subject, ...event, at: deps.now(), object: await read(deps, target, subject) }
  for (const notifier of notifiers.all)
    for (const { name: receiver, payload } of receiversOf(deps, notifier, notified))
      await deps.notices.start({
        id: idOf(hash, notifier.name, receiver),
        controller,
        notifier: notifier.name,
        receiver,
        subject,
        apiVersion: target.apiVersion,
        reason: event.reason,
        payload,
        tries: notifiers.tries,
      })
  remember(known, hash)
}

/** A bug in one notifier does not affect the others or the pass. */
function receiversOf({ log }: Deps, notifier: Notifier, notified: NotifiedEvent): readonly Receiver[] {
  try {
    return notifier.receivers(notified)
  } catch (error) {
    log.warn(
      { err: error, notifier: notifier.name, reason: notified.reason },
      'the receivers of a notifier cannot be determined',
    )
    return []
  }
}

/** The object as the pass observed it; undefined if it does not exist or cannot be read. */
async function read(deps: Deps, target: LevelTarget, { namespace, name, uid }: Subject) {
  const known = deps.objects.get(uid)
  if (known !== undefined) return known
  try {
    const kube = withDeadline(deps.kube, EVENT_DEADLINE)
    const object = await readObject({ kube }, followedKind(deps, target), namespace, name)
    return object?.metadata.uid === uid ? object : undefined
  } catch (error) {
    if (error instanceof KubeError) return undefined
    throw error
  }
}

/** Receivers have any name, but workflow IDs are limited. */
function idOf(hash: string, notifier: string, receiver: string): string {
  const isShort = receiver.length <= 64 && isObjectName(receiver)
  const place = isShort ? receiver : createHash('sha256').update(receiver).digest('hex').slice(0, 16)
  return [NOTIFICATION_RUN, hash, notifier, place].join('/')
}

function remember(known: Set<string>, hash: string): void {
  const [oldest] = known
  if (known.size >= MAX_REMEMBERED && oldest !== undefined) known.delete(oldest)
  known.add(hash)
}

export const noticeActivities = (deps: Deps): NotificationActivities => ({
  /** Sends a notification. @throws the notifier's error; `UnknownNotifier` (retryable) if the worker's configuration has no such notifier. */
  async sendNotice(notice) {
    const { controller, notifier: name } = notice
    const notifier = deps.notices?.of(controller)?.all.find((one) => one.name === name)
    const beat = setInterval(() => Context.current().heartbeat(), HEARTBEAT_MS)
    try {
      if (notifier === undefined)
        throw new ActivityError(
          'UnknownNotifier',
          `notifier ${name} is not in the configuration of this worker; add it`,
          {
            retryable: true,
          },
        )
      await notifier.send(notice, cancellationSignal())
    } catch (error) {
      throw isCancellation(error) ? error : failureOf(error)
    } finally {
      clearInterval(beat)
    }
  },

  /** Emits a Warning about a notification that could not be sent. @throws `EventUnwritten` (retryable). */
  async tellUnsentNotice({ notice, why }) {
    const { subject, apiVersion, notifier, receiver, reason, id } = notice
    const message = `notifier ${notifier} (${receiver}): the notification of ${reason} failed, and Pawl does not retry it: ${why}`
    const event = { type: 'Warning', reason: 'NotificationFailed', source: 'pawl', identity: [id], message } as const
    if ((await writeEvent(deps, { ...subject, apiVersion }, event)) !== 'unwritten') return
    throw retryableFailure('EventUnwritten', 'the Event could not be written')
  },
})

/** Other errors than ActivityError may quote URLs and headers with secrets, so their messages are dropped. */
function failureOf(error: unknown): unknown {
  if (error instanceof ActivityError) return toFailure(error, [])
  const { name } = error instanceof Error ? error : { name: typeof error }
  return toFailure(
    new ActivityError('NotifierFailed', `the notifier threw ${name}; see the log of the worker`, { retryable: true }),
    [],
  )
}
