// What Slack is sent of an Event: a title, who and what it is about, and the Event. Pure. Source: spec/chaos.md 2.15; Slack's limits of blocks.

import { authorOf, notificationType, type Occurrence, reportingOf, titleOf } from './notification.ts'
import { textOf } from './json-fields.ts'

/** As `chat.postMessage` and incoming webhooks take it. */
export interface SlackMessage {
  /** Where blocks are not shown. */
  readonly text: string
  readonly blocks: readonly object[]
}

// Source: Slack, "Block Kit": the texts of headers, of sections and of their fields.
const [MOST_HEADER, MOST_FIELD, MOST_SECTION] = [150, 2000, 3000]

export function slackMessage(told: Occurrence, clusterName: string): SlackMessage {
  const { kind, namespace, name, reason, message, object } = told
  const type = notificationType(told)
  const title = titleOf(told, type)
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

/** What Slack takes for links and mentions. Source: Slack, "Formatting text": escaping. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
