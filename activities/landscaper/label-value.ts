// Values of labels. Names of imports and exports may be longer than Kubernetes accepts in a label, and hold any character.

import { createHash } from 'node:crypto'

const LABEL_VALUE = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/
/** The labels that Pawl writes itself. Those of users are refused by the API server, and they are told so. */
const OWN_PREFIX = 'data.landscaper.gardener.cloud/'

/** The text as a label's value: as it is where Kubernetes accepts it, else 40 hexadecimal digits of its hash. */
export function labelValue(text: string): string {
  return LABEL_VALUE.test(text) ? text : createHash('sha1').update(text).digest('hex')
}

/** The labels, with values that the API server accepts where they are Pawl's own. */
export function safeLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [key, key.startsWith(OWN_PREFIX) ? labelValue(value) : value]),
  )
}
