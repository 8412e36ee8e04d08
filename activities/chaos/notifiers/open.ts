// Creates the notifiers that are enabled in the operator's configuration.

import type { Deps } from '../../deps.ts'
import type { Notifier, Notifiers } from '../../run/notifier.ts'
import { ActivityError } from '../../../workflows/kit/index.ts'
import type { NotifierConfig } from '../../../workflows/chaos/notifier-config.ts'
import { bodyOf, notificationType } from '../../../workflows/chaos/notification.ts'
import type { DatadogClient } from '../datadog-client.ts'
import { datadogNotifier } from './datadog.ts'
import { httpNotifier } from './http.ts'
import { occurrenceOf } from './occurrence.ts'
import { SecretFileError } from './secret-file.ts'
import { slackNotifier } from './slack.ts'

/**
 * @param datadog undefined: the Datadog notifier is disabled.
 * @throws a plain Error that names an unreadable or invalid file of secrets: the worker does not start.
 */
export function openNotifiers(
  config: NotifierConfig,
  log: Deps['log'],
  datadog?: Pick<DatadogClient, 'event'>,
): Notifiers {
  const { clusterName, http, slack, noop, attempts, retryMs } = config
  const all: readonly Notifier[] = [
    ...(noop ? [noopNotifier(log)] : []),
    ...(http === undefined ? [] : [httpNotifier(http, clusterName)]),
    ...(datadog === undefined ? [] : [datadogNotifier(datadog)]),
    ...(slack === undefined ? [] : [slackNotifier(slack, clusterName, log)]),
  ]
  return { tries: { attempts, retryMs }, all: all.map(withFileErrors) }
}

/** A notifier that writes each notification to the worker's log. */
function noopNotifier(log: Deps['log']): Notifier {
  return {
    name: 'noop',
    receivers(notification) {
      const occurrence = occurrenceOf(notification)
      return [{ name: 'log', payload: { type: notificationType(occurrence), message: bodyOf(occurrence) } }]
    },
    send({ payload }) {
      log.info({ notification: payload }, 'noop notifier')
      return Promise.resolve()
    },
  }
}

/**
 * Converts a SecretFileError of `send` to an ActivityError, because only the message of an ActivityError reaches users. The message contains the path of the
 * file.
 */
function withFileErrors(notifier: Notifier): Notifier {
  return {
    ...notifier,
    async send(notification, signal) {
      try {
        await notifier.send(notification, signal)
      } catch (error) {
        if (error instanceof SecretFileError)
          throw new ActivityError('NotifierFileUnreadable', error.message, { retryable: true, cause: error })
        throw error
      }
    },
  }
}
