// What people are told of a Disruption or a DisruptionCron outside of the cluster, made of one of its Events: the type that it is told as, and its words.
// Pure. Wire format: spec/chaos.md 2.15; JSON:API, as the HTTP notifier of chaos-controller sends it.

import { writeJson } from '../kit/index.ts'
import { DISRUPTION_KIND, USER_ANNOTATION, USER_GROUPS_ANNOTATION, USER_INFO_ANNOTATION } from './contract.ts'
import { fieldsOf, type JsonFields, listOf, parsedJson, textOf } from './json-fields.ts'

/** In the order in which `reporting.minNotificationType` counts them. */
export const NOTIFICATION_TYPES = ['Info', 'Success', 'Completion', 'Warning', 'Error'] as const
export type NotificationType = (typeof NOTIFICATION_TYPES)[number]

/** An Event of one of them. */
export interface Occurrence {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  /** As it was then; undefined: it was gone. */
  readonly object: object | undefined
}

const RECOVERIES = new Set(['RecoveredWarningStateInTargetPod', 'RecoveredWarningStateInTargetNode'])
const ENDS = new Set(['Finished', 'DurationOver', 'GCOver'])

export function notificationType({ type, reason }: Pick<Occurrence, 'type' | 'reason'>): NotificationType {
  if (type === 'Warning') return 'Warning'
  if (RECOVERIES.has(reason)) return 'Success'
  return ENDS.has(reason) ? 'Completion' : 'Info'
}

/** Whether one who wants to hear what is at least `least` hears what is told as `type`. */
export function isAllowed(type: NotificationType, least: string | undefined): boolean {
  const [wanted, told] = [NOTIFICATION_TYPES.findIndex((one) => one === least), NOTIFICATION_TYPES.indexOf(type)]
  return told >= (wanted === -1 ? NOTIFICATION_TYPES.indexOf('Success') : wanted)
}

const TITLES: Readonly<Record<NotificationType, string>> = {
  Info: 'received a notification.',
  Success: 'received a recovery notification.',
  Completion: 'is over.',
  Warning: 'encountered an issue.',
  Error: 'encountered an issue.',
}

export function titleOf({ kind, name }: Occurrence, type: NotificationType): string {
  return `${kind} '${name}' ${TITLES[type]}`
}

export function bodyOf({ kind, name, reason, message }: Occurrence): string {
  return `${kind} '${name}' emitted the event ${reason}: ${message}`
}

/** Who made it, as far as that is recorded. */
export interface Author {
  readonly username: string
  /** Empty when the user's name is no address. */
  readonly email: string
  readonly groups: readonly string[]
}

const SERVICE_ACCOUNT = 'system:serviceaccount:'

export function authorOf(object: object | undefined): Author {
  const annotations = fieldsOf(fieldsOf(fieldsOf(object)['metadata'])['annotations'])
  const info = fieldsOf(parsedJson(textOf(annotations[USER_INFO_ANNOTATION])))
  // What a cron has made was asked for by who made the cron.
  // Anybody may write that; whom the webhook has recorded nobody. The worker makes children by its own account.
  const recorded = textOf(info['username'])
  const isByPerson = recorded !== '' && !recorded.startsWith(SERVICE_ACCOUNT)
  const isChild = !isByPerson && textOf(annotations[USER_ANNOTATION]) !== ''
  const username = textOf(isChild ? annotations[USER_ANNOTATION] : info['username'])
  const groups = isChild ? parsedJson(textOf(annotations[USER_GROUPS_ANNOTATION])) : info['groups']
  return { username, email: emailIn(username), groups: listOf(groups).filter((one) => typeof one === 'string') }
}

export function reportingOf(object: object | undefined): JsonFields {
  return fieldsOf(fieldsOf(fieldsOf(object)['spec'])['reporting'])
}

/** The document that the HTTP notifier sends. */
export function httpDocument(told: Occurrence, clusterName: string) {
  const type = notificationType(told)
  const { username, email, groups } = authorOf(told.object)
  const manifest = manifestOf(told)
  const isDisruption = told.kind === DISRUPTION_KIND
  return {
    data: {
      type: 'http_notifier_events',
      id: told.uid,
      attributes: {
        name: told.name,
        namespace: told.namespace,
        cluster: clusterName,
        notification_title: titleOf(told, type),
        notification_type: type,
        event_reason: told.reason,
        event_message: bodyOf(told),
        involved_object_kind: told.kind,
        timestamp: told.atMs * 1_000_000,
        manifest,
        // What these were called before there were crons.
        disruption_name: isDisruption ? told.name : '',
        disruption: isDisruption ? manifest : '',
        targets_count: isDisruption ? targetsCount(told.object) : 0,
        ...(username !== '' && { username, user_groups: JSON.stringify(groups) }),
        ...(email !== '' && { user_email: email }),
      },
    },
  }
}

// A notice stays in a history, and Temporal takes no more than 2 MB.
const MOST_MANIFEST_CHARACTERS = 100_000
/** What of a status may be long: a line for each target, and the spec a second time. */
const LONG_FIELDS = ['targets', 'targetInjections', 'originalSpec', 'ignoredTargets', 'targetStates']

const APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** The object in JSON, without what only servers read; when it is too long without what is told of each target, and at last without all but its name. */
function manifestOf({ kind, namespace, name, uid, object }: Occurrence): string {
  const { metadata, status, ...rest } = fieldsOf(object)
  const annotations = without(fieldsOf(fieldsOf(metadata)['annotations']), [APPLIED])
  const known = { ...without(fieldsOf(metadata), ['managedFields']), annotations }
  const all = { ...rest, kind, metadata: known, ...(status !== undefined && { status }) }
  const brief = { ...all, status: without(fieldsOf(status), LONG_FIELDS) }
  const texts = object === undefined ? [] : [all, brief].map((one) => writeJson(one))
  const fitting = texts.find((text) => text.length <= MOST_MANIFEST_CHARACTERS)
  return fitting ?? writeJson({ kind, metadata: { namespace, name, uid } })
}

function without(fields: JsonFields, names: readonly string[]): JsonFields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

export function targetsCount(object: object | undefined): number {
  return Object.keys(fieldsOf(fieldsOf(fieldsOf(object)['status'])['targetInjections'])).length
}

function emailIn(username: string): string {
  return /^[^\s@<>,;:()]+@[^\s@<>,;:()]+\.[^\s@<>,;:()]+$/.test(username) ? username : ''
}
