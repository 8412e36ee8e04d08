// What takes safety nets away, and who is told. Source: spec/chaos.md 1.2, 1.4 (10).

import type { Problem } from '../../../kit/index.ts'
import {
  choiceProblems,
  fieldsOf,
  has,
  type JsonFields,
  rangeProblems,
  says,
  shown,
  textOf,
} from '../../json-fields.ts'

const CHANNEL = /^(?:[a-z0-9_-]+|C[A-Z0-9]+)$/
const [LONGEST_CHANNEL, LONGEST_ADDRESS, SHORTEST_PURPOSE] = [80, 320, 10]

export function unsafeModeProblems(spec: JsonFields, at: string): readonly Problem[] {
  const config = fieldsOf(fieldsOf(spec['unsafeMode'])['config'])
  if (!has(config, 'countTooLarge')) return []
  const thresholds = fieldsOf(config['countTooLarge'])
  const field = `${at}.unsafeMode.config.countTooLarge`
  const isEmpty = !has(thresholds, 'namespaceThreshold') && !has(thresholds, 'clusterThreshold')
  return [
    ...(isEmpty ? [{ field, found: 'neither', expected: 'namespaceThreshold or clusterThreshold' }] : []),
    ...rangeProblems(thresholds, field, { namespaceThreshold: [1, 100], clusterThreshold: [1, 100] }),
  ]
}

/** @param at where the field `reporting` stands. */
export function reportingProblems(value: unknown, at: string): readonly Problem[] {
  const reporting = fieldsOf(value)
  const [channel, address] = [textOf(reporting['slackChannel']), textOf(reporting['slackUserEmail'])]
  const purpose = textOf(reporting['purpose'])
  return [
    ...(says(reporting, 'slackChannel') && (channel.length > LONGEST_CHANNEL || !CHANNEL.test(channel))
      ? [{ field: `${at}.slackChannel`, found: shown(channel), expected: 'the name or the ID of a channel' }]
      : []),
    ...(address.length > LONGEST_ADDRESS
      ? [
          {
            field: `${at}.slackUserEmail`,
            found: `${address.length} characters`,
            expected: `at most ${LONGEST_ADDRESS}`,
          },
        ]
      : []),
    ...(has(reporting, 'purpose') && purpose.length < SHORTEST_PURPOSE
      ? [{ field: `${at}.purpose`, found: shown(purpose), expected: `at least ${SHORTEST_PURPOSE} characters` }]
      : []),
    ...choiceProblems(reporting, at, { minNotificationType: ['Info', 'Success', 'Completion', 'Warning', 'Error'] }),
  ]
}
