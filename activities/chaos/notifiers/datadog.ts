// Sends an event of DogStatsD for each Event. Source: spec/chaos.md 2.15.

import type { Notifier } from '../../run/notifier.ts'
import { ActivityError, type JsonValue } from '../../../workflows/kit/index.ts'
import { DISRUPTION_CRON_KIND, DISRUPTION_KIND } from '../../../workflows/chaos/contract.ts'
import { datadogEvent, type DatadogEvent } from '../../../workflows/chaos/notification.ts'
import type { DatadogClient } from '../datadog-client.ts'
import { occurrenceOf } from './occurrence.ts'
import { codeOf } from './send-request.ts'

const KINDS: readonly string[] = [DISRUPTION_KIND, DISRUPTION_CRON_KIND]

export function datadogNotifier(client: Pick<DatadogClient, 'event'>): Notifier {
  return {
    name: 'datadog',
    receivers(notification) {
      const occurrence = occurrenceOf(notification)
      if (!KINDS.includes(occurrence.kind)) return []
      return [{ name: 'datadog', payload: datadogEvent(occurrence) as unknown as JsonValue }]
    },
    async send({ payload }) {
      try {
        await client.event(payload as unknown as DatadogEvent)
      } catch (error) {
        throw new ActivityError('NotifierUnreachable', `the Datadog agent does not accept data: ${codeOf(error)}`, {
          retryable: true,
        })
      }
    },
  }
}
