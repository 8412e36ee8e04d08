// Converts Events of Disruptions and DisruptionCrons to notifications: their type and text. Pure. Wire format:
// spec/chaos.md 2.15; JSON:API, as the HTTP notifier of chaos-controller sends it.

import { writeJson } from '../kit/index.ts'
import { DISRUPTION_KIND, USER_ANNOTATION, USER_GROUPS_ANNOTATION, USER_INFO_ANNOTATION } from './contract.ts'
import { fieldsOf, type JsonFields, listOf, parsedJson, textOf } from './json-fields.ts'

/** In ascending order, as `reporting.minNotificationType` compares them. */
export const NOTIFICATION_TYPES = ['Info', 'Success', 'Completion', 'Warning', 'Error'] as const
export type NotificationType = (typeof NOTIFICATION_TYPES)[number]

/** An Event about a Disruption or DisruptionCron. */
export interface Occurrence {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  /** Milliseconds since the epoch. */
  readonly atMs: number
  /** The object at that time; undefined if it was deleted. */
  readonly object: object | undefined
}

const RECOVERY_REASONS = new Set(['RecoveredWarningStateInTargetPod', 'RecoveredWarningStateInTargetNode'])
const END_REASONS = new Set(['Finished', 'DurationOver', 'GCOver'])

export function notificationType({ type, reason }: Pick<Occurrence, 'type' | 'reason'>): NotificationType {
  if (type === 'Warning') return 'Warning'
  if (RECOVERY_REASONS.has(reason)) return 'Success'
  return END_REASONS.has(reason) ? 'Completion' : 'Info'
}

/** Whether a notification of this type reaches a receiver with the minimum `least`. */
export function reachesMinimum(type: NotificationType, least: string | undefined): boolean {
  const [minimumRank, rank] = [NOTIFICATION_TYPES.findIndex((one) => one === least), NOTIFICATION_TYPES.indexOf(type)]
  return rank >= (minimumRank === -1 ? NOTIFICATION_TYPES.indexOf('Success') : minimumRank)
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

/** The recorded creator. */
export interface Author {
  readonly username: string
  /** Empty if the user's name is not an e-mail address. */
  readonly email: string
  readonly groups: readonly string[]
}

const SERVICE_ACCOUNT = 'system:serviceaccount:'

export function authorOf(object: object | undefined): Author {
  const annotations = fieldsOf(fieldsOf(fieldsOf(object)['metadata'])['annotations'])
  const info = fieldsOf(parsedJson(textOf(annotations[USER_INFO_ANNOTATION])))
  // A child of a cron belongs to the creator of the cron.
  // Anyone may write that annotation, but not the webhook's annotation. The worker creates children with its own
  // account.
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

/** The document of the HTTP notifier. */
export function httpDocument(event: Occurrence, clusterName: string) {
  const type = notificationType(event)
  const { username, email, groups } = authorOf(event.object)
  const manifest = manifestOf(event)
  const isDisruption = event.kind === DISRUPTION_KIND
  return {
    data: {
      type: 'http_notifier_events',
      id: event.uid,
      attributes: {
        name: event.name,
        namespace: event.namespace,
        cluster: clusterName,
        notification_title: titleOf(event, type),
        notification_type: type,
        event_reason: event.reason,
        event_message: bodyOf(event),
        involved_object_kind: event.kind,
        timestamp: event.atMs * 1_000_000,
        manifest,
        // The names of these fields before crons existed.
        disruption_name: isDisruption ? event.name : '',
        disruption: isDisruption ? manifest : '',
        targets_count: isDisruption ? targetsCount(event.object) : 0,
        ...(username !== '' && { username, user_groups: JSON.stringify(groups) }),
        ...(email !== '' && { user_email: email }),
      },
    },
  }
}

// A notification is part of a workflow history, and Temporal limits payloads to 2 MB.
const MAX_MANIFEST_LENGTH = 100_000
/** Status fields that may be long: one entry for each target, or a second copy of the spec. */
const LONG_FIELDS = ['targets', 'targetInjections', 'originalSpec', 'ignoredTargets', 'targetStates']

const APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/**
 * The object as JSON without server-side fields; if it is too long, without the fields for each target, and finally
 * only its identity.
 */
function manifestOf({ kind, namespace, name, uid, object }: Occurrence): string {
  const { metadata, status, ...rest } = fieldsOf(object)
  const annotations = without(fieldsOf(fieldsOf(metadata)['annotations']), [APPLIED])
  const known = { ...without(fieldsOf(metadata), ['managedFields']), annotations }
  const all = { ...rest, kind, metadata: known, ...(status !== undefined && { status }) }
  const brief = { ...all, status: without(fieldsOf(status), LONG_FIELDS) }
  const texts = object === undefined ? [] : [all, brief].map((one) => writeJson(one))
  const fitting = texts.find((text) => text.length <= MAX_MANIFEST_LENGTH)
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

/** The format of `chat.postMessage` and incoming webhooks. */
export interface SlackMessage {
  /** Shown where blocks are not supported. */
  readonly text: string
  readonly blocks: readonly object[]
}

// Source: Slack, "Block Kit": the texts of headers, of sections and of their fields.
const [MOST_HEADER, MOST_FIELD, MOST_SECTION] = [150, 2000, 3000]

export function slackMessage(occurrence: Occurrence, clusterName: string): SlackMessage {
  const { kind, namespace, name, reason, message, object } = occurrence
  const type = notificationType(occurrence)
  const title = titleOf(occurrence, type)
  const purpose = textOf(reportingOf(object)['purpose'])
  const facts: readonly (readonly [string, string])[] = [
    ['Kind', kind],
    ['Name', name],
    ['Notification Type', type],
    ['Cluster', clusterName],
    ['Namespace', namespace],
    ['Author', authorOf(object).username],
    ...(purpose === '' ? [] : [['Purpose', purpose] as const]),
  ]
  const fields = facts.map(([what, value]) =>
    markdown(`*${what}:*\n${value === '' ? 'n/a' : escaped(value)}`, MOST_FIELD),
  )
  const event = `> ${kind} \`${name}\` emitted the event \`${reason}\`: ${escaped(message)}`
  return {
    text: escaped(title),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: title.slice(0, MOST_HEADER) } },
      { type: 'divider' },
      { type: 'section', fields },
      { type: 'divider' },
      { type: 'section', text: markdown(event, MOST_SECTION) },
    ],
  }
}

function markdown(text: string, most: number): object {
  return { type: 'mrkdwn', text: text.slice(0, most) }
}

/** Escapes the characters of links and mentions. Source: Slack, "Formatting text": escaping. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

export interface DatadogEvent {
  readonly title: string
  readonly text: string
  readonly alertType: 'info' | 'success' | 'warning' | 'error'
  readonly tags: Readonly<Record<string, string>>
}

// Agents accept datagrams of 8 KiB. Source: Datadog, "DogStatsD datagram format"; Datadog truncates longer texts.
const [MOST_TITLE, MOST_TEXT, MOST_TAG] = [100, 4000, 200]

const ALERTS: Readonly<Record<NotificationType, DatadogEvent['alertType']>> = {
  Info: 'info',
  Success: 'success',
  Completion: 'info',
  Warning: 'warning',
  Error: 'error',
}

/** Selector labels by which Datadog users find their events. */
const SELECTED = ['team', 'service', 'app']

export function datadogEvent(occurrence: Occurrence): DatadogEvent {
  const type = notificationType(occurrence)
  return {
    title: titleOf(occurrence, type).slice(0, MOST_TITLE),
    text: bodyOf(occurrence).slice(0, MOST_TEXT),
    alertType: ALERTS[type],
    tags: tagsOf(occurrence),
  }
}

function tagsOf({ kind, name, object }: Occurrence): DatadogEvent['tags'] {
  if (kind !== DISRUPTION_KIND) return { disruptioncron_name: name }
  const selector: JsonFields = fieldsOf(fieldsOf(fieldsOf(object)['spec'])['selector'])
  const selected = SELECTED.map((label) => [label, textOf(selector[label]).slice(0, MOST_TAG)] as const)
  return { ...Object.fromEntries(selected.filter(([, value]) => value !== '')), disruption_name: name }
}
