// An Event of a Disruption or a DisruptionCron, as an event of Datadog. Pure. Source: spec/chaos.md 2.15.

import { DISRUPTION_KIND } from './contract.ts'
import { fieldsOf, type JsonFields, textOf } from './json-fields.ts'
import { bodyOf, type NotificationType, notificationType, type Occurrence, titleOf } from './notification.ts'

export interface DatadogEvent {
  readonly title: string
  readonly text: string
  readonly alertType: 'info' | 'success' | 'warning' | 'error'
  readonly tags: Readonly<Record<string, string>>
}

// Agents take datagrams of 8 KiB. Source: Datadog, "DogStatsD datagram format"; what is longer in the text Datadog cuts off.
const [MOST_TITLE, MOST_TEXT, MOST_TAG] = [100, 4000, 200]

const ALERTS: Readonly<Record<NotificationType, DatadogEvent['alertType']>> = {
  Info: 'info',
  Success: 'success',
  Completion: 'info',
  Warning: 'warning',
  Error: 'error',
}

/** Labels of the selector by which people of Datadog look for what is theirs. */
const SELECTED = ['team', 'service', 'app']

export function datadogEvent(told: Occurrence): DatadogEvent {
  const type = notificationType(told)
  return {
    title: titleOf(told, type).slice(0, MOST_TITLE),
    text: bodyOf(told).slice(0, MOST_TEXT),
    alertType: ALERTS[type],
    tags: tagsOf(told),
  }
}

function tagsOf({ kind, name, object }: Occurrence): DatadogEvent['tags'] {
  if (kind !== DISRUPTION_KIND) return { disruptioncron_name: name }
  const selector: JsonFields = fieldsOf(fieldsOf(fieldsOf(object)['spec'])['selector'])
  const selected = SELECTED.map((label) => [label, textOf(selector[label]).slice(0, MOST_TAG)] as const)
  return { ...Object.fromEntries(selected.filter(([, value]) => value !== '')), disruption_name: name }
}
