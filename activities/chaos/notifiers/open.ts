// The notifiers that the operators have switched on.

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

/** @param datadog undefined: it is not told. @throws a plain Error that names a file of secrets that cannot be read. */
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
  return { tries: { attempts, retryMs }, all: all.map(withFilesTold) }
}

/** A line in the log of a worker. */
function noopNotifier(log: Deps['log']): Notifier {
  return {
    name: 'noop',
    receivers(told) {
      const occurrence = occurrenceOf(told)
      return [{ name: 'log', payload: { type: notificationType(occurrence), message: bodyOf(occurrence) } }]
    },
    send({ payload }) {
      log.info({ notification: payload }, 'noop notifier')
      return Promise.resolve()
    },
  }
}

/** A file that cannot be read any more is told by its path, which no message of a request has. */
function withFilesTold(notifier: Notifier): Notifier {
  return {
    ...notifier,
    async send(notice, signal) {
      try {
        await notifier.send(notice, signal)
      } catch (error) {
        if (error instanceof SecretFileError)
          throw new ActivityError('NotifierFileUnreadable', error.message, { retryable: true, cause: error })
        throw error
      }
    },
  }
}
